#include "cli/doctor/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/text/text.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"
#include "sdk/net/socket.h"

namespace glim::cli::doctor {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
constexpr int kListening = 10;  // TCP_LISTEN, as /proc/net/tcp has it

// The inode of the socket that listens at `port`, of a table like /proc/net/tcp; 0: none. A busy server's table has many
// MiB: it is read line by line.
std::uint64_t ListenerIn(std::istream&& lines, std::uint16_t port) {
  std::string line;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    unsigned local_port = 0, state = 0;
    unsigned long long inode = 0;
    const int read = std::sscanf(line.c_str(), " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*d %*d %llu",
                                 &local_port, &state, &inode);
    if (read == 3 && local_port == port && state == kListening) return inode;
  }
  return 0;
}

// The program that has this socket; empty: none that we may look at.
std::string HolderOf(const Machine& machine, std::uint64_t inode) {
  const std::string socket = "socket:[" + std::to_string(inode) + "]";
  for (const std::string& process : machine.Names("/proc")) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string folder = "/proc/" + process + "/fd";
    for (const std::string& name : machine.Names(folder)) {
      char target[64] = {};
      if (::readlink(machine.Path(Below(folder, name)).c_str(), target, sizeof target - 1) > 0 && socket == target) {
        return machine.Line("/proc/" + process + "/comm");
      }
    }
  }
  return "";
}

}  // namespace

std::string Below(const std::string& folder, const std::string& name) {
  std::string path = folder;
  return path.append("/").append(name);
}

FileFacts Machine::Look(const std::string& path) const {
  struct stat info {};
  if (::stat(Path(path).c_str(), &info) != 0) return {false, false, 0, 0, errno == ENOTDIR ? ENOENT : errno};
  return {true, S_ISDIR(info.st_mode), info.st_mode & 07777U, info.st_uid, 0};
}

std::string Machine::Text(const std::string& path) const {
  const UniqueFd file(::open(Path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  if (!file || ReadAll(file.get(), kTextBytesMax, text) != 0) return "";
  return text;
}

std::string Machine::Line(const std::string& path) const {
  const std::string text = Text(path);
  return Trimmed(text.substr(0, text.find('\n')));
}

std::vector<std::string> Machine::Names(const std::string& folder) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(Path(folder).c_str()), ::closedir);
  if (!open) return names;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

RoomFacts Machine::Room(const std::string& path) const {
  struct statvfs info {};
  if (::statvfs(Path(path).c_str(), &info) != 0) return {0, 0, 0, 0, false, errno};
  struct statfs kind {};
  const bool in_memory = ::statfs(Path(path).c_str(), &kind) == 0 && kind.f_type == TMPFS_MAGIC;
  return {info.f_blocks * info.f_frsize, info.f_bavail * info.f_frsize, info.f_files, info.f_favail, in_memory, 0};
}

bool Machine::MayRun(const std::string& path) const {
  return !Look(path).folder && ::access(Path(path).c_str(), X_OK) == 0;
}

std::string FirstProgram(const Machine& machine, const std::vector<std::string>& paths) {
  const auto found = std::find_if(paths.begin(), paths.end(), [&](const std::string& p) { return machine.MayRun(p); });
  return found == paths.end() ? "" : *found;
}

ClockState ReadClockState() {
  struct timex state {};  // asks, sets nothing
  const int kernel = ::adjtimex(&state);
  if (kernel < 0) return ClockState::kUnknown;
  return kernel == TIME_ERROR || (state.status & STA_UNSYNC) != 0 ? ClockState::kNotSynchronised
                                                                  : ClockState::kSynchronised;
}

std::uint16_t PortOf(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return 0;
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, port);
  return error == std::errc() && at == end ? port : 0;
}

PortFacts WhoListens(const Machine& machine, std::uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::uint64_t inode = ListenerIn(std::ifstream(machine.Path(table)), port);
    if (inode != 0) return {true, HolderOf(machine, inode)};
  }
  return {};
}

Status TryToConnect(const std::string& address, Duration within) {
  const auto addresses = net::ParseAddresses(address);
  if (!addresses.ok()) return addresses.status();
  const net::Deadline deadline(within);
  Status last;
  for (const net::SocketAddress& each : *addresses) {
    const auto socket = net::StartConnect(each);
    if (!socket.ok()) {
      last = socket.status();
      continue;
    }
    if (!net::AwaitReady(socket->get(), POLLOUT, deadline)) {
      return Status(StatusCode::kDeadlineExceeded, "it does not answer");
    }
    const int error = net::ConnectError(socket->get());
    if (error == 0) return Status::Ok();
    last = Status(StatusCode::kUnavailable, net::ErrnoText(error));
  }
  return last;
}

}  // namespace glim::cli::doctor
