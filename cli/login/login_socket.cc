#include "cli/login/login_socket.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "sdk/base/status_name.h"
#include "sdk/io/unique_fd.h"

namespace glim::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kAnswerBytesMax = 1 << 16;

Status NoAnswer(const std::string& path, const std::string& why) {
  return Status(StatusCode::kUnavailable, fmt::format("the agent does not answer on {}: {}", path, why))
      .WithReason("NO_ANSWER")
      .WithFix("'systemctl status glim-agent' on this host; the operator sees it in 'glim nodes'");
}

Status BadAnswer() {
  return Status(StatusCode::kInvalidArgument, "the answer on the login socket cannot be read")
      .WithReason("BAD_ANSWER")
      .WithFix("see that glim and glim-agent are of the same release");
}

Status CheckFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || ::access(path.c_str(), F_OK) != 0) {
    return Status(StatusCode::kNotFound, fmt::format("there is no login socket {}", path))
        .WithReason("NO_LOGIN_SOCKET")
        .WithFix("log in on a host for logins, or with 'glim login --token' or 'glim login --oidc'");
  }
  const bool ours = info.st_uid == 0 || info.st_uid == ::geteuid();
  if (ours && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Status::Ok();
  return Status(StatusCode::kPermissionDenied, fmt::format("anybody could have put a socket into {}", folder))
      .WithReason("NOT_TRUSTED")
      .WithField("--socket")
      .WithFix("name a socket in a folder of root's that nobody else may write");
}

std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Status RefusalIn(const json& error) {
  StatusCode code = StatusCode::kUnknown;
  const std::string word = TextAt(error, "code");
  for (int number = 1; number <= 16; ++number) {
    if (word == StatusName(static_cast<StatusCode>(number))) code = static_cast<StatusCode>(number);
  }
  return Status(code, TextAt(error, "message")).WithReason(TextAt(error, "reason")).WithFix(TextAt(error, "fix"));
}

}  // namespace

Result<SocketLogin> ReadSocketAnswer(const std::string& line) {
  const json document = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return BadAnswer();
  if (const auto error = document.find("error"); error != document.end() && error->is_object()) {
    return RefusalIn(*error);
  }
  SocketLogin login;
  login.token = TextAt(document, "token");
  login.user = TextAt(document, "user");
  login.server = TextAt(document, "server");
  login.authorities = TextAt(document, "authorities");
  const auto expires = document.find("expires_at_ms");
  if (expires != document.end() && expires->is_number_integer()) login.expires_at_ms = expires->get<std::int64_t>();
  if (login.token.empty() || login.user.empty()) return BadAnswer();
  return login;
}

Result<SocketLogin> AskLoginSocket(const std::string& path, Duration within) {
  if (Status folder = CheckFolder(path); !folder.ok()) return folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return NoAnswer(path, "the path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return NoAnswer(path, std::strerror(errno));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(within.ms);
  std::string answer;
  while (answer.size() <= kAnswerBytesMax && answer.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd readable = {socket.get(), POLLIN, 0};
    const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return NoAnswer(path, "it takes too long");
    char part[4096];
    const ssize_t count = ::read(socket.get(), part, sizeof(part));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return NoAnswer(path, std::strerror(errno));
    if (count == 0) break;
    answer.append(part, static_cast<std::size_t>(count));
  }
  return ReadSocketAnswer(answer);
}

}  // namespace glim::cli
