#include "tests/bench/scheduler_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};

}  // namespace

SchedulerProcess::SchedulerProcess(const std::string& program, const std::string& store, const std::string& folder,
                                   const std::vector<std::string>& flags)
    : port_file_(folder + "/port"), agents_port_file_(folder + "/agents-port") {
  const std::string log = folder + "/scheduler.log";
  const std::string config = folder + "/scheduler.yaml";
  std::vector<std::string> words = {program,
                                    "--listen",
                                    "127.0.0.1:0",
                                    "--listen-agents",
                                    "127.0.0.1:0",
                                    "--store",
                                    store,
                                    "--port-file",
                                    port_file_,
                                    "--agents-port-file",
                                    agents_port_file_,
                                    "--log-level",
                                    "error",
                                    "--config",
                                    config,
                                    "--insecure-without-identity"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::ofstream(config) << "metrics: none\n";
  ::unlink(port_file_.c_str());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
  ::posix_spawn_file_actions_destroy(&actions);
}

SchedulerProcess::~SchedulerProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (IsRunning() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool SchedulerProcess::IsRunning() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

int SchedulerProcess::WaitPort() {
  const auto end = Clock::now() + kPatience;
  for (int port = 0; IsRunning() && Clock::now() < end;) {
    if (std::ifstream(port_file_) >> port) return port;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return 0;
}

int SchedulerProcess::AgentsPort() const {
  int port = 0;
  std::ifstream(agents_port_file_) >> port;
  return port;
}

double SchedulerProcess::CpuSeconds() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state to cmajflt
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace glim::bench
