// What somebody without a token, who keeps to no rule of HTTP/2 or of gRPC, takes from who has one: nothing.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "nodeagent/saves/testing/saves.h"
#include "sdk/base/testing/waits.h"
#include "sdk/net/socket.h"

namespace glim::nodeagent {
namespace {

std::string Number(std::uint32_t value, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) text.push_back(static_cast<char>(value >> (8 * at)));
  return text;
}

std::string Frame(std::uint8_t kind, std::uint8_t flags, std::uint32_t stream, const std::string& body) {
  return Number(static_cast<std::uint32_t>(body.size()), 3) + Number(kind, 1) + Number(flags, 1) + Number(stream, 4) +
         body;
}

std::string Literal(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

// A connection of HTTP/2 written by hand.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    const net::SocketAddress to = net::ParseAddress(address).value();
    socket_.Reset(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int little = 2048;  // before it connects: so much the server may send that nobody reads
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    EXPECT_TRUE(::connect(socket_.get(), to.raw(), to.length) == 0 || errno == EINPROGRESS) << net::ErrnoText(errno);
    EXPECT_TRUE(net::AwaitReady(socket_.get(), POLLOUT, net::Deadline(LongWaitDuration())));
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "") + Frame(4, 1, 0, ""));
  }

  // Calls whose token is wrong, or of which nothing comes but that they begin. Reads no answer. As many as are taken.
  void Begin(int calls, bool whole) {
    const std::string headers = Literal(":method", "POST") + Literal(":scheme", "http") +
                                Literal(":path", "/glim.v1.SaveApi/Fetch") + Literal(":authority", "x") +
                                Literal("content-type", "application/grpc") + Literal("te", "trailers");
    v1::FetchRequest request;
    request.set_job_id(1);
    request.set_local("a");
    request.set_reader("node-2");
    request.set_token("x");
    const std::string body = request.SerializeAsString();
    const std::string message = Number(0, 1) + Number(static_cast<std::uint32_t>(body.size()), 4) + body;
    for (int i = 0; i < calls; ++i, stream_ += 2) {
      const std::string frames = Frame(1, 4, stream_, headers) + (whole ? Frame(0, 1, stream_, message) : "");
      if (!Send(frames)) return;
    }
  }

  // Whether the server hangs up in time; nothing is read for that.
  bool IsHungUpOn(std::chrono::milliseconds limit = LongWait()) const {
    pollfd ended{socket_.get(), 0, 0};
    return ::poll(&ended, 1, static_cast<int>(limit.count())) == 1;
  }

 private:
  // False: it was hung up on, or takes no more.
  bool Send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n >= 0) {
        sent += static_cast<std::size_t>(n);
      } else if (!net::WouldBlock(errno) ||
                 !net::AwaitReady(socket_.get(), POLLOUT, net::Deadline(Milliseconds(500)))) {
        return false;
      }
    }
    return true;
  }

  UniqueFd socket_;
  std::uint32_t stream_ = 1;
};

struct SaveStrangersTest : SaveCopyTest {
  void SetUp() override { there_.Write("s/a", Bytes(64 << 20)); }
  bool CopyIsMade() {
    const Status status = Copy(Order("s", {there_.SourceFor("s", "node-2")}));
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok();
  }
  const std::string& address() { return there_.server().address(); }
};

TEST_F(SaveStrangersTest, WhoReadsNoAnswerKeepsNobodyFromACopy) {
  there_.Serve([](SaveServerOptions& options) { options.fetches_at_once = 1; });
  Stranger silent(address());
  silent.Begin(100000, true);
  EXPECT_TRUE(CopyIsMade());
}

TEST_F(SaveStrangersTest, ACallWithoutATokenTakesNoPlaceOfWhoHasOne) {
  there_.Serve([](SaveServerOptions& options) { options.fetches_at_once = 0; });
  v1::FetchRequest request;
  request.set_job_id(kTestJob);
  request.set_local("s");
  request.set_reader("node-2");
  grpc::ClientContext context;
  const auto stub = v1::SaveApi::NewStub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  v1::FetchChunk chunk;
  const auto reader = stub->Fetch(&context, request);
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED) << "though no place is free";
}

TEST_F(SaveStrangersTest, WhoIsRefusedAgainAndAgainIsHungUpOn) {
  there_.Serve([](SaveServerOptions& options) { options.door.refusals = 2; });
  Stranger twice(address()), more(address());
  twice.Begin(2, true);
  more.Begin(3, true);
  EXPECT_TRUE(more.IsHungUpOn());
  EXPECT_FALSE(twice.IsHungUpOn(std::chrono::milliseconds(0))) << "an honest reader may have an old token";
}

TEST_F(SaveStrangersTest, WhoSendsMuchAndNothingWholeIsHungUpOn) {
  there_.Serve();
  Stranger greedy(address());
  greedy.Begin(4000, false);
  EXPECT_TRUE(greedy.IsHungUpOn());
}

TEST_F(SaveStrangersTest, WhoShowsNoTokenInTimeIsHungUpOnAndWhoHasShownOneIsNot) {
  there_.Serve([](SaveServerOptions& options) { options.door.stranger_time = std::chrono::milliseconds(300); });
  v1::FetchRequest request;
  request.set_job_id(kTestJob);
  request.set_local("s");
  request.set_reader("node-2");
  request.set_token(there_.SourceFor("s", "node-2").token);
  const auto stub = v1::SaveApi::NewStub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  std::list<grpc::ClientContext> contexts;
  std::unique_ptr<grpc::ClientReader<v1::FetchChunk>> reader;
  v1::FetchChunk chunk;
  const auto begins = [&] {
    reader = stub->Fetch(&contexts.emplace_back(), request);
    return reader->Read(&chunk);
  };
  ASSERT_TRUE(Eventually(begins)) << "on a busy machine the first try may show its token late";
  Stranger quiet(address());
  EXPECT_TRUE(quiet.IsHungUpOn());
  while (reader->Read(&chunk)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(SaveStrangersTest, TheOldestStrangerOfAnAddressMakesRoom) {
  there_.Serve([](SaveServerOptions& options) { options.door.address_strangers = 2; });
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(std::make_unique<Stranger>(address()));
  EXPECT_TRUE(strangers[0]->IsHungUpOn());
  EXPECT_TRUE(CopyIsMade());
  EXPECT_TRUE(strangers[1]->IsHungUpOn()) << "for who copied";
  EXPECT_FALSE(strangers[2]->IsHungUpOn(std::chrono::milliseconds(0)));
}

TEST_F(SaveStrangersTest, AServerEndsAtOnceWhoeverReadsNothing) {
  there_.Serve();
  Stranger silent(address());
  silent.Begin(100000, true);
  const auto began = std::chrono::steady_clock::now();
  there_.Die();
  EXPECT_LT(std::chrono::steady_clock::now() - began, LongWait());
}

}  // namespace
}  // namespace glim::nodeagent
