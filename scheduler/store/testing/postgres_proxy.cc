#include "scheduler/store/testing/postgres_proxy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sdk/base/testing/waits.h"

namespace glim::store {

namespace {

constexpr const char* kSocketName = ".s.PGSQL.5432";

sockaddr_un Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  GLIM_CHECK(path.size() < sizeof address.sun_path, "a socket's path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool WriteAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::send(fd, data, size, MSG_NOSIGNAL);
    if (wrote <= 0) return false;
    data += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace

PostgresProxy::PostgresProxy(const std::string& server_directory) : server_path_(server_directory + "/" + kSocketName) {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = Address(dir_.File(kSocketName));
  GLIM_CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  GLIM_CHECK(::listen(listener_, 16) == 0, "listen");
  thread_ = std::thread([this] { Serve(); });
}

PostgresProxy::~PostgresProxy() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void PostgresProxy::Arm(Cut cut, int times, std::function<void()> then) {
  cut_ = cut;
  then_ = std::move(then);
  armed_ = times;
}

void PostgresProxy::Accept() {
  Pair pair;
  pair.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (pair.client < 0) return;
  pair.server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = Address(server_path_);
  if (refuse_ || ::connect(pair.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(pair.client);
    ::close(pair.server);
    return;
  }
  pairs_.push_back(pair);
}

bool PostgresProxy::FromClient(const Pair& pair) {
  char buffer[65536];
  const ssize_t got = ::read(pair.client, buffer, sizeof buffer);
  if (got <= 0) return false;
  const std::string chunk(buffer, static_cast<std::size_t>(got));
  // An empty portal's Bind of the commit's statement, or the end of a transaction.
  const bool commits = chunk.find(std::string("\0glim_commit\0", 13)) != std::string::npos ||
                       chunk.find(std::string("COMMIT\0", 7)) != std::string::npos;
  if (!commits || armed_ == 0) return WriteAll(pair.server, chunk.data(), chunk.size());
  --armed_;
  if (cut_ == Cut::kAfterCommit) {
    pollfd answer{pair.server, POLLIN, 0};
    GLIM_CHECK(WriteAll(pair.server, chunk.data(), chunk.size()) && ::poll(&answer, 1, LongWaitMs()) == 1, "no answer");
  }
  // At once for both sides: what comes `then` must find the server already told.
  ::shutdown(pair.client, SHUT_RDWR);
  ::shutdown(pair.server, SHUT_RDWR);
  ++cuts_;
  then_();
  return false;
}

bool PostgresProxy::FromServer(const Pair& pair) {
  char buffer[65536];
  const ssize_t got = ::read(pair.server, buffer, sizeof buffer);
  return got > 0 && WriteAll(pair.client, buffer, static_cast<std::size_t>(got));
}

void PostgresProxy::Serve() {
  while (!stop_) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      polled.push_back({pair.client, POLLIN, 0});
      polled.push_back({pair.server, POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), 20) < 0) continue;
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const Pair& pair = pairs_[i];
      bool keep = !refuse_;
      if (keep && polled[2 * i + 1].revents != 0) keep = FromClient(pair);
      if (keep && polled[2 * i + 2].revents != 0) keep = FromServer(pair);
      if (keep) {
        kept.push_back(pair);
      } else {
        ::close(pair.client);
        ::close(pair.server);
      }
    }
    pairs_ = std::move(kept);
    if (polled[0].revents != 0) Accept();
  }
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
}

}  // namespace glim::store
