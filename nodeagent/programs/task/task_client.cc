#include "nodeagent/programs/task/task_client.h"
#include "sdk/task_environment/variables.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace glim::nodeagent {
namespace {

using nlohmann::json;
using Clock = TaskClient::Clock;

constexpr std::chrono::milliseconds kPauseFirst{50};
constexpr std::chrono::milliseconds kPauseMax{2000};
constexpr std::chrono::milliseconds kLockPoll{5};
constexpr std::chrono::seconds kWelcomeWithin{5};
constexpr int kProtocol = 2;
constexpr std::size_t kInputBytesMax = 1024 * 1024;

void Pause(Clock::duration duration) {
  ::poll(nullptr, 0, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()));
}

int MillisecondsUntil(std::optional<Clock::time_point> until) {
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

Status Unavailable(const std::string& what) {
  return Status(StatusCode::kUnavailable, what + ": " + std::strerror(errno));
}

// The node's own glim-task and its agent agree: this program is another one.
Status OtherProtocol(const json& answer) {
  const char* sdk = std::getenv(NameOf(TaskVariable::kSdk));
  const std::string mine = "glim-task " GLIM_VERSION " speaks protocol " + std::to_string(kProtocol);
  const std::string theirs =
      "this node's agent (" + answer.value("version", "older") + ") protocol " + answer["protocol"].dump();
  const std::string fix = sdk && *sdk ? "use the node's own, " + std::string(sdk) +
                                            "/bin/glim-task; another one is "
                                            "before it in PATH"
                                      : "install glim-task and glim-agent of one release on the node";
  return Status(StatusCode::kInvalidArgument, mine + ", " + theirs + ": nothing was told; " + fix);
}

}  // namespace

void TaskClient::TakeLock(Clock::time_point until) {
  if (lock_) return;
  // The agent has made it: in a container nothing can be made beside the socket. An agent of before has not.
  const std::string path = path_ + ".rank-" + std::to_string(rank_);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fd.Reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // A lock that cannot be had is gone without: then two speakers may have to connect again in turns.
  while (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= until) return;
    Pause(kLockPoll);
  }
  lock_ = std::move(fd);
}

Status TaskClient::TryConnect() {
  input_.clear();
  heard_.clear();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    return InvalidArgument("GLIM_SOCKET", "GLIM_SOCKET is longer than a socket's path can be");
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  socket_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_ || ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return Unavailable("cannot reach the node's agent at " + path_);
  }
  const Status said = Write({{"type", "hello"},
                             {"protocol", kProtocol},
                             {"rank", rank_},
                             {"pid", ::getpid()},
                             {"sdk", "glim-task " GLIM_VERSION}});
  if (!said.ok()) return said;
  const Result<json> answer = ReadMessage(Clock::now() + kWelcomeWithin);
  if (!answer.ok()) return answer.status();
  const std::string type = answer->value("type", "");
  if (const auto spoken = answer->find("protocol"); spoken != answer->end() && *spoken != kProtocol) {
    return OtherProtocol(*answer);
  }
  if (type == "refused") return Status(StatusCode::kInvalidArgument, answer->value("error", "refused"));
  if (type != "welcome") return Status(StatusCode::kUnavailable, "the agent did not say welcome");
  welcome_ = {answer->value("seq", std::uint64_t{0}), answer->value("agreement", 0u),
              answer->value("step", std::int64_t{-1})};
  return Status::Ok();
}

Result<Welcome> TaskClient::Connect(Clock::time_point until) {
  auto pause = kPauseFirst;
  for (;;) {
    TakeLock(until);
    Status status = TryConnect();
    if (status.ok()) return welcome_;
    socket_.Reset();
    if (status.code() == StatusCode::kInvalidArgument || Clock::now() + pause >= until) return status;
    Pause(pause);
    pause = std::min(pause * 2, kPauseMax);
  }
}

Status TaskClient::Say(json message, Clock::time_point until) {
  for (;;) {
    if (!socket_) {
      if (const auto connected = Connect(until); !connected.ok()) return connected.status();
    }
    // The number is the rank's next: nobody else of the rank speaks meanwhile.
    const std::uint64_t seq = welcome_.seq + 1;
    message["seq"] = seq;
    Status status = Write(message);
    while (status.ok()) {
      Result<json> answer = ReadMessage(until);
      if (!answer.ok()) {
        status = answer.status();
        break;
      }
      const std::string type = answer->value("type", "");
      const bool mine = answer->value("seq", std::uint64_t{0}) >= seq;
      if (type == "refused" && mine) return Status(StatusCode::kInvalidArgument, answer->value("error", "refused"));
      if (type != "ack" && type != "refused") heard_.push_back(std::move(*answer));
      if (type != "ack" || !mine) continue;
      welcome_.seq = seq;
      return Status::Ok();
    }
    if (Clock::now() >= until) return status;
    // Said again after a reconnect. It may have been taken in and only the answer lost; every word is a level, and
    // hearing it twice changes nothing.
    socket_.Reset();
  }
}

Result<json> TaskClient::Hear(std::optional<Clock::time_point> until) {
  if (!heard_.empty()) {
    json message = std::move(heard_.front());
    heard_.pop_front();
    return message;
  }
  for (;;) {
    Result<json> message = ReadMessage(until);
    if (!message.ok() || message->value("type", "") != "ack") return message;
  }
}

Status TaskClient::Write(const json& message) {
  const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(socket_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unavailable("the agent went away");
    at += static_cast<std::size_t>(n);
  }
  return Status::Ok();
}

Result<json> TaskClient::ReadMessage(std::optional<Clock::time_point> until) {
  for (;;) {
    if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
      json message = json::parse(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      input_.erase(0, end + 1);
      if (message.is_object()) return message;
      continue;
    }
    if (input_.size() > kInputBytesMax) return Status(StatusCode::kInternal, "the agent sent a line without end");
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, MillisecondsUntil(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Status(StatusCode::kDeadlineExceeded, "the agent did not answer in time");
    char buffer[16 * 1024];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(StatusCode::kUnavailable, "the agent went away");
    input_.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace glim::nodeagent
