#include "nodeagent/identity/login_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "glim/v1/common.pb.h"
#include "sdk/base/status_name.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

using Socket = boost::asio::local::stream_protocol::socket;

constexpr std::size_t kVisitsMax = 32;
constexpr std::chrono::seconds kVisitLimit{15};

std::string InJson(const grpc::Status& status) {
  v1::ErrorDetail detail;
  if (!detail.ParseFromString(status.error_details())) detail.Clear();
  const nlohmann::json error = {{"code", StatusName(static_cast<StatusCode>(status.error_code()))},
                                {"reason", detail.reason()},
                                {"message", status.error_message()},
                                {"fix", detail.fix()}};
  return nlohmann::json{{"error", error}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string InJson(const v1::LoginUserResponse& answer, const std::string& authorities) {
  const nlohmann::json all = {{"token", answer.token()},
                              {"user", answer.user()},
                              {"expires_at_ms", answer.expires_at_ms()},
                              {"server", answer.listen()},
                              {"authorities", authorities}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status CheckFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (path.empty() || path[0] != '/' || folder.empty()) {
    return InvalidArgument("--login-socket", "--login-socket \"" + path + "\" is no absolute path",
                           "name it like /run/glim/login.sock");
  }
  if (::mkdir(folder.c_str(), 0755) == 0 && ::chmod(folder.c_str(), 0755) != 0) return FileError("open", folder, errno);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return FileError("look at", folder, errno);
  const bool ours = info.st_uid == ::geteuid() || info.st_uid == 0;
  if (S_ISDIR(info.st_mode) && ours && (info.st_mode & 022) == 0) return Status::Ok();
  return Status(StatusCode::kPermissionDenied, "others may write to " + folder + ", and put a socket of theirs there")
      .WithReason("OPEN_FOLDER")
      .WithField("--login-socket")
      .WithFix("name a socket in a folder of root's, such as /run/glim/login.sock");
}

}  // namespace

std::uint32_t LoginSocket::OverflowUid() {
  constexpr std::uint32_t kUsual = 65534;
  const auto text = ReadFile("/proc/sys/kernel/overflowuid", 64);
  std::uint32_t uid = kUsual;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), uid);
  return uid;
}

// One who has connected.
class LoginSocket::Visit : public std::enable_shared_from_this<LoginSocket::Visit> {
 public:
  Visit(LoginSocket* owner, Socket socket) : owner_(owner), socket_(std::move(socket)) {}

  void Begin() {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return End();
    uid_ = peer.uid;
    if (uid_ == owner_->hooks_.overflow_uid()) return RefuseOverflow();
    v1::LoginUserRequest request;
    request.set_uid(peer.uid);
    v1::AgentApi::StubInterface* const stub = owner_->hooks_.stub();
    call_ = Call::Start(
        owner_->io_, std::move(request), kVisitLimit,
        [stub](grpc::ClientContext* context, const v1::LoginUserRequest* question, v1::LoginUserResponse* answer,
               Call* call) { stub->async()->LoginUser(context, question, answer, call); },
        [self = shared_from_this()](const grpc::Status& status, v1::LoginUserResponse& response) {
          self->Answer(status, response);
        });
  }
  void Stop() {
    if (call_) call_->Cancel();
  }

 private:
  using Call = UnaryCall<v1::LoginUserRequest, v1::LoginUserResponse>;

  // The scheduler knows the usual number of it alone.
  void RefuseOverflow() {
    v1::ErrorDetail detail;
    detail.set_reason("NO_LOGIN_UID");
    detail.set_field("uid");
    detail.set_fix("log in as yourself, outside of user namespaces");
    v1::LoginUserResponse none;
    Answer({grpc::StatusCode::PERMISSION_DENIED,
            "uid " + std::to_string(uid_) + " is what the kernel shows of users that it has no number for here",
            detail.SerializeAsString()},
           none);
  }
  void Answer(const grpc::Status& status, const v1::LoginUserResponse& response) {
    call_.reset();
    if (status.ok()) {
      LogInfo("event=user_logged_in uid={} user={}", uid_, Quoted(response.user()));
    } else {
      LogWarning("event=login_refused uid={} error={}", uid_, Quoted(status.error_message()));
    }
    line_ = (status.ok() ? InJson(response, owner_->hooks_.authorities()) : InJson(status)) + "\n";
    // It fits into the socket's own room: who does not read holds up nobody.
    (void)::send(socket_.native_handle(), line_.data(), line_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    End();
  }
  void End() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    owner_->Ended(shared_from_this());
  }

  LoginSocket* const owner_;
  Socket socket_;
  uid_t uid_ = 0;
  std::shared_ptr<Call> call_;
  std::string line_;
};

LoginSocket::LoginSocket(boost::asio::io_context& io, std::string path, Hooks hooks)
    : io_(io), path_(std::move(path)), hooks_(std::move(hooks)), acceptor_(io) {}

LoginSocket::~LoginSocket() = default;

Result<std::unique_ptr<LoginSocket>> LoginSocket::Open(boost::asio::io_context& io, std::string path, Hooks hooks) {
  std::unique_ptr<LoginSocket> socket(new LoginSocket(io, std::move(path), std::move(hooks)));
  if (Status status = socket->Listen(); !status.ok()) return status;
  socket->Accept();
  return socket;
}

Status LoginSocket::Listen() {
  if (Status status = CheckFolder(path_); !status.ok()) return status;
  if (path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument("--login-socket", "--login-socket is longer than a socket's path may be",
                           "choose a shorter");
  }
  ::unlink(path_.c_str());
  boost::system::error_code error;
  acceptor_.open(boost::asio::local::stream_protocol(), error);
  if (!error) acceptor_.bind(boost::asio::local::stream_protocol::endpoint(path_), error);
  if (!error) acceptor_.listen(64, error);
  if (error) return FileError("listen on", path_, error.value());
  return ::chmod(path_.c_str(), 0666) == 0 ? Status::Ok() : FileError("open", path_, errno);
}

void LoginSocket::Accept() {
  if (stopped_ || accepting_ || visits_.size() >= kVisitsMax) return;
  accepting_ = true;
  acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
    accepting_ = false;
    if (stopped_) return;
    if (!error) {
      const auto visit = std::make_shared<Visit>(this, std::move(socket));
      visits_.insert(visit);
      visit->Begin();
    }
    Accept();
  });
}

void LoginSocket::Ended(const std::shared_ptr<Visit>& visit) {
  visits_.erase(visit);
  Accept();
}

void LoginSocket::Stop() {
  if (std::exchange(stopped_, true)) return;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  ::unlink(path_.c_str());
  const auto visits = visits_;
  for (const auto& visit : visits) visit->Stop();
}

}  // namespace glim::nodeagent
