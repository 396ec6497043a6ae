#include "nodeagent/os/process_look.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>

#include "sdk/base/printable.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kLookBytesMax = 64 * 1024;
constexpr std::size_t kThreadsMax = 256;
constexpr std::size_t kWaitsBytesMax = 128;

// "Name:\t" of a status file, to the end of its line.
std::string FieldOf(const std::string& status, const std::string& name) {
  const std::size_t at = ("\n" + status).find("\n" + name + ":\t");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 2;
  return status.substr(begin, status.find('\n', begin) - begin);
}

std::uint64_t SignalsOf(const std::string& status, const char* name) {
  return std::strtoull(FieldOf(status, name).c_str(), nullptr, 16);
}

// Letters, digits and '_' alone: "0" is the kernel's word for "not for you", or for "it does not wait".
std::string WaitsIn(const std::string& folder) {
  const auto text = ReadFile(folder + "/wchan", kWaitsBytesMax);
  return text.ok() && *text != "0" ? Printable(*text) : "";
}

ThreadLook LookAtThread(const std::string& folder, pid_t id, const std::string& status) {
  ThreadLook look;
  look.id = id;
  const std::string state = FieldOf(status, "State");
  if (!state.empty()) look.state = state[0];
  look.blocked = SignalsOf(status, "SigBlk");
  look.caught = SignalsOf(status, "SigCgt");
  look.waits = WaitsIn(folder);
  return look;
}

std::vector<pid_t> ThreadsOf(const std::string& folder) {
  std::vector<pid_t> threads;
  DIR* tasks = ::opendir((folder + "/task").c_str());
  if (!tasks) return threads;
  while (const dirent* entry = ::readdir(tasks)) {
    const long id = std::strtol(entry->d_name, nullptr, 10);
    if (id > 0 && threads.size() < kThreadsMax) threads.push_back(static_cast<pid_t>(id));
  }
  ::closedir(tasks);
  return threads;
}

}  // namespace

ProcessLook LookAtProcess(pid_t pid) {
  ProcessLook look;
  look.pid = pid;
  const std::string folder = "/proc/" + std::to_string(pid);
  for (const pid_t id : ThreadsOf(folder)) {
    const std::string thread = folder + "/task/" + std::to_string(id);
    const auto status = ReadFile(thread + "/status", kLookBytesMax);
    if (!status.ok()) continue;  // it has ended
    look.threads.push_back(LookAtThread(thread, id, *status));
    if (id != pid) continue;
    look.name = Printable(FieldOf(*status, "Name"));
    look.parent = static_cast<pid_t>(std::strtol(FieldOf(*status, "PPid").c_str(), nullptr, 10));
    std::swap(look.threads.front(), look.threads.back());
  }
  if (look.threads.empty() || TellingThread(look).state != 'D') return look;
  const auto stack = ReadFile(folder + "/task/" + std::to_string(TellingThread(look).id) + "/stack", kLookBytesMax);
  if (stack.ok()) look.kernel_stack = *stack;
  return look;
}

const ThreadLook& TellingThread(const ProcessLook& look) {
  const auto hangs =
      std::find_if(look.threads.begin(), look.threads.end(), [](const ThreadLook& t) { return t.state == 'D'; });
  return hangs == look.threads.end() ? look.threads.front() : *hangs;
}

}  // namespace glim::nodeagent
