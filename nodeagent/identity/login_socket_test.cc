// Users' logins at the socket: the kernel says who they are, whatever they send.
#include "nodeagent/identity/login_socket.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "glim/v1/common.pb.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

class Logins final : public v1::AgentApi::Service {
 public:
  Logins() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    stub = v1::AgentApi::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  }
  grpc::Status LoginUser(grpc::ServerContext*, const v1::LoginUserRequest* request,
                         v1::LoginUserResponse* response) override {
    uid = request->uid();
    ++asked;
    if (refuse) {
      v1::ErrorDetail detail;
      detail.set_reason("UNKNOWN_UID");
      detail.set_fix("ask an operator");
      return {grpc::StatusCode::PERMISSION_DENIED, "no user has that uid", detail.SerializeAsString()};
    }
    response->set_token("glim_x_y");
    response->set_user("kim");
    response->set_expires_at_ms(7);
    response->set_listen("head:7601");
    return grpc::Status::OK;
  }
  std::unique_ptr<v1::AgentApi::Stub> stub;
  std::atomic<std::uint32_t> uid = 0;
  std::atomic<int> asked = 0;
  std::atomic<bool> refuse = false;

 private:
  std::unique_ptr<grpc::Server> server_;
};

class LoginSocketTest : public testing::Test {
 protected:
  void Open() {
    ASSERT_EQ(::chmod(temp_.path().c_str(), 0755), 0);
    auto opened = LoginSocket::Open(
        io_, path_,
        {[this] { return logins_.stub.get(); }, [] { return "PEM"; }, [this] { return overflow_uid_.load(); }});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    socket_ = std::move(opened).value();
    thread_ = std::thread([this] { io_.run(); });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    boost::asio::post(io_, [this] { socket_->Stop(); });
    thread_.join();
  }
  // What a process that connects reads until the end.
  std::string Ask() const {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "no socket";
    std::string text;
    char bytes[4096];
    for (ssize_t n = ::read(fd.get(), bytes, sizeof bytes); n > 0; n = ::read(fd.get(), bytes, sizeof bytes)) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
    return text;
  }

  std::atomic<std::uint32_t> overflow_uid_ = LoginSocket::OverflowUid();
  Logins logins_;
  TempFolder temp_;
  const std::string path_ = temp_.path() + "/login.sock";
  boost::asio::io_context io_{1};
  std::unique_ptr<LoginSocket> socket_;
  std::thread thread_;
};

TEST_F(LoginSocketTest, TheKernelsWordIsAskedFor) {
  Open();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0666u) << "open to everybody";
  const auto answer = nlohmann::json::parse(Ask());
  EXPECT_EQ(logins_.uid, ::geteuid());
  EXPECT_EQ(answer["token"], "glim_x_y");
  EXPECT_EQ(answer["user"], "kim");
  EXPECT_EQ(answer["expires_at_ms"], 7);
  EXPECT_EQ(answer["server"], "head:7601");
  EXPECT_EQ(answer["authorities"], "PEM");
}

TEST_F(LoginSocketTest, ARefusalSaysWhatToDo) {
  Open();
  logins_.refuse = true;
  const auto error = nlohmann::json::parse(Ask())["error"];
  EXPECT_EQ(error["code"], "PERMISSION_DENIED");
  EXPECT_EQ(error["reason"], "UNKNOWN_UID");
  EXPECT_EQ(error["fix"], "ask an operator");
}

// What the kernel shows of users that it has no number for here may be anybody's number in the cluster.
TEST_F(LoginSocketTest, WhoIsShownAsNobodyIsRefusedByTheHostsOwnNumber) {
  Open();
  overflow_uid_ = ::geteuid();
  EXPECT_EQ(nlohmann::json::parse(Ask())["error"]["reason"], "NO_LOGIN_UID");
  EXPECT_EQ(logins_.asked, 0) << "the scheduler is not told a number that means nobody";
  overflow_uid_ = ::geteuid() + 1;
  EXPECT_EQ(nlohmann::json::parse(Ask())["user"], "kim") << "as the number is now";
  std::uint32_t said = 0;
  std::ifstream("/proc/sys/kernel/overflowuid") >> said;
  EXPECT_EQ(LoginSocket::OverflowUid(), said);
}

TEST_F(LoginSocketTest, ManyAtOnceAreAllAnswered) {
  Open();
  std::vector<std::thread> users;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 60; ++i) {
    users.emplace_back([&] { answered += nlohmann::json::parse(Ask(), nullptr, false).contains("token") ? 1 : 0; });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(answered, 60);
}

TEST_F(LoginSocketTest, NotInAFolderWhereOthersCouldPutTheirs) {
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0777), 0);
  const LoginSocket::Hooks hooks{[this] { return logins_.stub.get(); }, [] { return ""; }, LoginSocket::OverflowUid};
  EXPECT_EQ(LoginSocket::Open(io_, path_, hooks).status().reason(), "OPEN_FOLDER");
  EXPECT_EQ(LoginSocket::Open(io_, "login.sock", hooks).status().field(), "--login-socket");
}

}  // namespace
}  // namespace glim::nodeagent
