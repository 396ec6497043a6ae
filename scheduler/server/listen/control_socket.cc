#include "scheduler/server/listen/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "scheduler/identity/seal.h"
#include "sdk/base/printable.h"
#include "sdk/io/io_error.h"
#include "sdk/io/random_bytes.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr std::size_t kLineMax = 1024;
constexpr int kServeSeconds = 5;
constexpr int kAskSeconds = 15;
constexpr Duration kFresh = Minutes(1);
constexpr const char* kKind = "control";
constexpr const char* kName = "break-glass";

std::string ControlPath(const std::string& state_dir) { return state_dir + "/control.sock"; }

// The kernel has room for 107 characters: a longer path goes by the folder's descriptor.
bool SetAddress(const std::string& path, int folder, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const std::string name =
      path.size() < sizeof address->sun_path ? path : "/proc/self/fd/" + std::to_string(folder) + "/control.sock";
  if (name.size() >= sizeof address->sun_path) return false;
  std::memcpy(address->sun_path, name.c_str(), name.size() + 1);
  return true;
}

UniqueFd OpenFolderOf(const std::string& path) {
  return UniqueFd(::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void BoundWaits(int fd, int seconds) {
  const timeval limit{seconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// Up to the line's end, without it; empty: nothing came in time.
std::string ReadLine(int fd) {
  std::string line;
  char byte = 0;
  while (line.size() < kLineMax && ::read(fd, &byte, 1) == 1) {
    if (byte == '\n') return line;
    line += byte;
  }
  return "";
}

void WriteLine(int fd, const std::string& line) {
  const std::string text = line + "\n";
  // Nobody waits for one who does not read.
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) LogDebug("control socket: no answer was taken");
}

bool IsFresh(const std::string& text, TimePoint now) {
  TimePoint said;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), said.ms);
  return error == std::errc() && at == text.data() + text.size() && said > now - kFresh && said < now + kFresh;
}

}  // namespace

ControlSocket::ControlSocket(std::string path, identity::ClusterKey key, std::function<TimePoint()> wall, Make make)
    : path_(std::move(path)), key_(std::move(key)), wall_(std::move(wall)), make_(std::move(make)) {}

Result<std::unique_ptr<ControlSocket>> ControlSocket::Open(const std::string& state_dir, identity::ClusterKey key,
                                                           std::function<TimePoint()> wall, Make make) {
  std::unique_ptr<ControlSocket> socket(
      new ControlSocket(ControlPath(state_dir), std::move(key), std::move(wall), std::move(make)));
  const std::string& path = socket->path_;
  const UniqueFd folder = OpenFolderOf(path);
  sockaddr_un address;
  if (!folder || !SetAddress(path, folder.get(), &address)) return FileError("listen on", path, errno);
  socket->listening_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socket->stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!socket->listening_ || !socket->stop_) return FileError("listen on", path, errno);
  ::unlink(path.c_str());  // the store's lock has told that no other scheduler of this folder runs
  const int fd = socket->listening_.get();
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd, 4) != 0) {
    return FileError("listen on", path, errno);
  }
  socket->thread_ = std::thread([self = socket.get()] { self->Serve(); });
  return socket;
}

void ControlSocket::Stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) LogWarning("control socket: it does not stop");
  thread_.join();
  ::unlink(path_.c_str());
}

void ControlSocket::Serve() {
  while (true) {
    pollfd ready[] = {{listening_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (ready[0].revents == 0) continue;
    const UniqueFd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) WriteLine(connection.get(), Answer(connection.get()));
  }
}

std::string ControlSocket::Answer(int connection) const {
  BoundWaits(connection, kServeSeconds);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "error NO_PEER who asks is unknown";
  if (peer.uid != ::geteuid() && peer.uid != 0) return "error NOT_YOURS only the scheduler's own user and root may ask";
  const std::string line = ReadLine(connection);
  const std::size_t blank = line.find(' ');
  const auto proof = identity::Unseal(key_, kKind, kName, line.substr(0, blank));
  if (!proof.ok() || !IsFresh(*proof, wall_())) return "error NO_KEY the asker has not shown that it has the key file";
  const std::string user = blank == std::string::npos ? "" : line.substr(blank + 1);
  const auto token = make_(user, "unix: uid " + std::to_string(peer.uid));
  if (token.ok()) return "token " + *token;
  return "error " + (token.status().reason().empty() ? "FAILED" : token.status().reason()) + " " +
         Printable(token.status().message());
}

Result<std::string> AskControl(const std::string& state_dir, const identity::ClusterKey& key, const std::string& user,
                               TimePoint wall) {
  const std::string path = ControlPath(state_dir);
  const UniqueFd folder = OpenFolderOf(path);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  if (!folder || !fd || !SetAddress(path, folder.get(), &address)) return FileError("ask at", path, errno);
  BoundWaits(fd.get(), kAskSeconds);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED)
      return Status(StatusCode::kNotFound, "no scheduler listens at " + path);
    return FileError("ask at", path, errno);
  }
  const std::string sealed = identity::Seal(key, kKind, kName, std::to_string(wall.ms), FillRandomly);
  WriteLine(fd.get(), user.empty() ? sealed : sealed + " " + user);
  const std::string answer = ReadLine(fd.get());
  if (answer.starts_with("token ")) return answer.substr(6);
  if (!answer.starts_with("error ")) {
    return Status(StatusCode::kUnavailable, "the scheduler that runs gave no answer at " + path)
        .WithReason("NO_ANSWER");
  }
  const std::size_t blank = answer.find(' ', 6);
  return Status(StatusCode::kFailedPrecondition, blank == std::string::npos ? answer : answer.substr(blank + 1))
      .WithReason(answer.substr(6, blank - 6));
}

}  // namespace glim::server
