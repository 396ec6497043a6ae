#include "nodeagent/os/wait_words.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "nodeagent/os/processes.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr std::string_view kWaitsFile = "/memfd:glim-waits";
constexpr std::size_t kWaitWordsBytes = 400;

bool IsWaitsFile(const std::string& link) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size() - 1);
  return std::string_view(target.data(), size < 0 ? 0 : static_cast<std::size_t>(size)).starts_with(kWaitsFile);
}

std::string LineIn(int file) {
  std::array<char, kWaitWordsBytes> bytes{};
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return std::string(text.substr(0, text.find_first_of(std::string_view("\0\n", 2))));
}

}  // namespace

std::vector<std::string> ReadWaitWords(const ProcessLook& look, std::set<unsigned long>& known) {
  std::vector<std::string> all;
  const std::string folder = "/proc/" + std::to_string(look.pid) + "/fd";
  const UniqueFd process(OpenPidfd(look.pid));
  DIR* files = process ? ::opendir(folder.c_str()) : nullptr;
  if (!files) return all;
  while (const dirent* entry = all.size() == kWaitWordsMax ? nullptr : ::readdir(files)) {
    if (!IsWaitsFile(folder + "/" + entry->d_name)) continue;
    const UniqueFd file(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), std::atoi(entry->d_name), 0)));
    struct stat about {};
    // The program may have put another file there meanwhile: only one in memory is read, which nothing holds up.
    if (!file || ::fcntl(file.get(), F_GET_SEALS) < 0 || ::fstat(file.get(), &about) != 0) continue;
    if (!known.insert(about.st_ino).second) continue;
    if (std::string line = LineIn(file.get()); !line.empty()) all.push_back(std::move(line));
  }
  ::closedir(files);
  return all;
}

}  // namespace glim::nodeagent
