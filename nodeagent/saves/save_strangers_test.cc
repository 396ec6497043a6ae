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
#include "sdk/net/tcp_counts.h"
#include "sdk/net/testing/raw_http2.h"

namespace glim::nodeagent {
namespace {

using namespace net::testing;  // NOLINT(google-build-using-namespace)

// A connection of HTTP/2 written by hand.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    const net::SocketAddress to = net::ParseAddress(address).value();
    socket_.Reset(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int little = 2048;  // before it connects: so much the server may send that nobody reads
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    const int out = 16 << 10;  // what was given has come, but for as much
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &out, sizeof out);
    EXPECT_TRUE(::connect(socket_.get(), to.raw(), to.length) == 0 || errno == EINPROGRESS) << net::ErrnoText(errno);
    EXPECT_TRUE(net::AwaitReady(socket_.get(), POLLOUT, net::Deadline(LongWaitDuration())));
    Send(RawPreface());
  }

  // Calls whose token is wrong, or of which nothing comes but that they begin. Reads no answer. As many as are taken.
  void Begin(int calls, bool whole) {
    const std::string headers = RawCallHeaders("/glim.v1.SaveApi/Fetch");
    v1::FetchRequest request;
    request.set_job_id(1);
    request.set_local("a");
    request.set_reader("node-2");
    request.set_token("x");
    const std::string message = RawMessage(request.SerializeAsString());
    for (int i = 0; i < calls; ++i, stream_ += 2) {
      const std::string frames = RawFrame(kRawHeaders, kRawEndHeaders, stream_, headers) +
                                 (whole ? RawFrame(kRawData, kRawEndStream, stream_, message) : "");
      if (!Send(frames)) return;
    }
  }

  // A call whose token counts; nothing of its answer is read.
  void Fetch(const v1::FetchRequest& request) {
    Send(RawFrame(kRawHeaders, kRawEndHeaders, stream_, RawCallHeaders("/glim.v1.SaveApi/Fetch")) +
         RawFrame(kRawData, kRawEndStream, stream_, RawMessage(request.SerializeAsString())));
    stream_ += 2;
  }

  // A header block without end, until it is hung up on; false: it never was, in some MiB.
  bool SendsABlockWithoutEnd() {
    std::string headers;
    while (headers.size() < 16'000) headers += RawHeader("x", "y");
    if (!Send(RawFrame(kRawHeaders, 0, stream_, RawCallHeaders("/glim.v1.SaveApi/Fetch")))) return true;
    const std::string more = RawFrame(kRawContinuation, 0, stream_, headers);
    for (std::size_t sent = 0; sent < (64 << 20); sent += more.size()) {
      if (!Send(more)) return true;
    }
    return false;
  }
  // Some of it has come, of which nothing is read.
  bool IsAnswered() const { return net::CountsOf(socket_.get()).value().received > 500; }
  std::uint64_t given() const { return net::CountsOf(socket_.get()).value().given; }

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

// gRPC would keep it for as long as it comes.
TEST_F(SaveStrangersTest, WhoSendsAHeaderBlockWithoutEndAlsoAfterAGoodCallIsHungUpOn) {
  there_.Serve();
  v1::FetchRequest request;
  request.set_job_id(kTestJob);
  request.set_local("s");
  request.set_reader("node-2");
  request.set_token(there_.SourceFor("s", "node-2").token);
  for (const bool known : {false, true}) {
    Stranger flood(address());
    if (known) {
      flood.Fetch(request);
      ASSERT_TRUE(Eventually([&] { return flood.IsAnswered(); }));
    }
    EXPECT_TRUE(flood.SendsABlockWithoutEnd()) << known;
    EXPECT_TRUE(flood.IsHungUpOn()) << known;
    EXPECT_LT(flood.given(), 1U << 20) << known;
  }
  EXPECT_TRUE(CopyIsMade());
}

// A reader says again and again what it has taken.
TEST_F(SaveStrangersTest, WhoTakesManyCopiesByOneConnectionIsNotTakenForAFlood) {
  there_.Serve([](SaveServerOptions& options) { options.door.known_bytes = 16 << 10; });
  const auto stub = v1::SaveApi::NewStub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  v1::FetchRequest request;
  request.set_job_id(kTestJob);
  request.set_local("s");
  request.set_reader("node-2");
  request.set_token(there_.SourceFor("s", "node-2").token);
  for (int i = 0; i < 8; ++i) {
    grpc::ClientContext context;
    const auto reader = stub->Fetch(&context, request);
    v1::FetchChunk chunk;
    while (reader->Read(&chunk)) {
    }
    EXPECT_TRUE(reader->Finish().ok()) << i;
  }
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
