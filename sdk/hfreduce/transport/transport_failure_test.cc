// What a transport does when a peer dies or does not keep the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/frame.h"
#include "sdk/hfreduce/transport/tcp_transport.h"
#include "sdk/hfreduce/transport/testing/nodes.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;

// In the child: node 1, which reads and sends for ever.
[[noreturn]] void TalkUntilKilled(const TransportOptions& options, std::uint16_t port) {
  auto store = TcpStore::Create({.host = "127.0.0.1", .port = port, .serve = false});
  const NodeIndex peers[] = {0};
  auto made = ConnectTransport(OptionsOfNode(options, 1), 1, peers, **store, LongWaitDuration());
  GLIM_CHECK(made.ok(), made.status().message());
  Transport& transport = **made;
  Recorder recorder;
  recorder.transport = &transport;
  const auto payload = Pattern(300'000, 1);
  for (;;) {
    for (const Stream stream : {Stream::kUp0, Stream::kDown0}) {
      transport.TrySend(0, HeaderOf(stream, 1, payload.size()), payload);
    }
    transport.Progress(recorder);
    recorder.messages.clear();
    // The test is gone: nobody will kill this process.
    if (!recorder.failures.empty()) std::_Exit(0);
  }
}

class DeadPeer : public ::testing::TestWithParam<Wire> {};

TEST_P(DeadPeer, AKilledProcessIsNoticedAsleep) {
  const TransportOptions options = OptionsOf(GetParam());
  // Forked before this process has threads.
  int port_pipe[2];
  ASSERT_EQ(::pipe(port_pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint16_t port = 0;
    if (::read(port_pipe[0], &port, sizeof port) != sizeof port) std::_Exit(1);
    TalkUntilKilled(options, port);
  }
  auto store = TcpStore::Create({.host = "127.0.0.1", .port = 0, .serve = true});
  ASSERT_TRUE(store.ok());
  const std::uint16_t port = (*store)->port();
  ASSERT_EQ(::write(port_pipe[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  ::close(port_pipe[0]);
  ::close(port_pipe[1]);
  const NodeIndex peers[] = {1};
  auto made = ConnectTransport(OptionsOfNode(options, 0), 0, peers, **store, LongWaitDuration());
  ASSERT_TRUE(made.ok()) << made.status().message();

  Transport& transport = **made;
  Recorder recorder;
  recorder.transport = &transport;
  const auto payload = Pattern(1 << 20, 1);
  std::size_t received = 0;
  recorder.received = [&](const Recorder::Message&) { ++received; };
  bool killed = false;
  while (recorder.failures.empty()) {
    transport.TrySend(1, HeaderOf(Stream::kUp1, 1, payload.size()), payload);
    const bool any = transport.Progress(recorder);
    recorder.messages.clear();
    if (received >= 20 && !killed) {
      killed = true;
      ASSERT_EQ(::kill(child, SIGKILL), 0);
    }
    if (any || !transport.Arm()) continue;
    pollfd polled{transport.EventDescriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&polled, 1, LongWaitMs()), 1);
  }
  EXPECT_TRUE(killed);
  EXPECT_EQ(recorder.failures[0].first, 1U);
  EXPECT_FALSE(transport.TrySend(1, HeaderOf(Stream::kUp0, 1, payload.size()), payload));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (int i = 0; i < 10; ++i) transport.Progress(recorder);
  EXPECT_EQ(recorder.failures.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Wires, DeadPeer, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

// A TcpTransport whose peer is this test, with a bare socket.
class BrokenRules : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    peer_.Reset(pair[0]);
    std::vector<Edge> edges;
    edges.push_back({5, UniqueFd(pair[1])});
    auto made = MakeTcpTransport(std::move(edges));
    ASSERT_TRUE(made.ok());
    transport_ = std::move(made).value();
    recorder_.transport = transport_.get();
    recorder_.release = false;
  }

  void Say(const Frame& frame, std::size_t payload_bytes = 0) {
    const FrameBytes bytes = Encode(frame);
    std::vector<std::byte> all(bytes.begin(), bytes.end());
    all.resize(all.size() + payload_bytes);
    ASSERT_EQ(::send(peer_.get(), all.data(), all.size(), MSG_NOSIGNAL), static_cast<ssize_t>(all.size()));
  }
  Frame Message(std::uint8_t slot, std::uint8_t sequence, std::uint32_t bytes = 10) {
    return {HeaderOf(Stream::kUp0, 1, bytes), FrameKind::kMessage, slot, sequence, {}};
  }
  void ExpectFailure(const std::string& why) {
    for (int i = 0; i < 10; ++i) transport_->Progress(recorder_);
    ASSERT_EQ(recorder_.failures.size(), 1U);
    EXPECT_EQ(recorder_.failures[0].first, 5U);
    EXPECT_THAT(recorder_.failures[0].second, HasSubstr(why));
    char byte;
    while (::recv(peer_.get(), &byte, 1, 0) > 0) {
    }
    EXPECT_EQ(::recv(peer_.get(), &byte, 1, 0), errno == ECONNRESET ? -1 : 0) << "the connection is ended";
  }

  UniqueFd peer_;
  std::unique_ptr<Transport> transport_;
  Recorder recorder_;
};

TEST_F(BrokenRules, TooLarge) {
  Say(Message(0, 0, (1 << 20) + 1));
  ExpectFailure("a message of 1048577 bytes; at most 1048576 are allowed");
}

TEST_F(BrokenRules, UnknownStream) {
  Frame frame = Message(0, 0);
  frame.header.stream = static_cast<Stream>(6);
  Say(frame);
  ExpectFailure("unknown stream 6");
}

TEST_F(BrokenRules, NoCredit) {
  for (std::uint8_t i = 0; i < kCredits; ++i) Say(Message(i, i), 10);
  Say(Message(0, kCredits), 10);
  ExpectFailure("without a credit");
  EXPECT_EQ(recorder_.messages.size(), kCredits) << "what came before counts";
}

TEST_F(BrokenRules, OutOfOrder) {
  Say(Message(0, 0), 10);
  Say(Message(1, 2), 10);
  ExpectFailure("out of order");
}

TEST_F(BrokenRules, ReturnsWhatWasNotTaken) {
  Frame frame;
  frame.kind = FrameKind::kReturns;
  frame.returned[0] = 1;
  Say(frame);
  ExpectFailure("a slot returned that was not taken");
}

TEST_F(BrokenRules, PlacedFromAfarOverTcp) {
  Frame frame = Message(0, 0);
  frame.kind = FrameKind::kPlaced;
  Say(frame);
  ExpectFailure("placed from afar");
}

TEST_F(BrokenRules, EndsWithinAMessage) {
  Say(Message(0, 0, 1000), 400);
  peer_.Reset();
  transport_->Progress(recorder_);
  transport_->Progress(recorder_);
  ASSERT_EQ(recorder_.failures.size(), 1U);
  EXPECT_THAT(recorder_.failures[0].second, HasSubstr("within a message"));
  EXPECT_TRUE(recorder_.messages.empty());
}

TEST_F(BrokenRules, DoesNotReadItsControlMessages) {
  const auto payload = Pattern(4096, 1);
  for (std::size_t i = 0; i < 4 * kControlQueueMax; ++i) {
    transport_->TrySend(5, HeaderOf(Stream::kControl, 1, payload.size()), payload);
  }
  ExpectFailure("does not read");
}

TEST_F(BrokenRules, BytesMayComeOneByOne) {
  Frame frame = Message(0, 0);
  const FrameBytes bytes = Encode(frame);
  const auto payload = Pattern(10, 1);
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  all.insert(all.end(), payload.begin(), payload.end());
  for (const std::byte& byte : all) {
    ASSERT_TRUE(recorder_.messages.empty());
    ASSERT_EQ(::send(peer_.get(), &byte, 1, MSG_NOSIGNAL), 1);
    transport_->Progress(recorder_);
  }
  ASSERT_EQ(recorder_.messages.size(), 1U);
  EXPECT_TRUE(recorder_.messages[0].payload == payload);
  EXPECT_TRUE(recorder_.failures.empty());
}

// ucp_config_modify takes any name. What it did not find it says on its log when the worker is made.
TEST(Ucx, KnowsTheNamesOfItsSettings) {
  ASSERT_TRUE(UcxIsBuilt()) << "this build is without UCX: install libucx-dev";
  ::testing::internal::CaptureStdout();
  TransportOptions options = OptionsOf({"ucx_tcp", TransportKind::kUcx, "tcp"});
  auto nodes = ConnectAll(options, 1);
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// No InfiniBand device is needed to ask what the name of a setting does.
TEST(Ucx, ServiceLevelReachesTheVerbsTransports) {
  std::FILE* asked = ::popen("UCX_IB_SL=5 ucx_info -c 2>/dev/null", "r");
  ASSERT_NE(asked, nullptr);
  std::string text;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, asked)) text.append(buffer, n);
  ASSERT_EQ(::pclose(asked), 0) << "ucx_info is missing: install ucx-utils";
  EXPECT_THAT(text, HasSubstr("UCX_RC_VERBS_SL=5\n"));
  EXPECT_THAT(text, HasSubstr("UCX_DC_MLX5_SL=5\n"));
}

}  // namespace
}  // namespace glim::hfreduce
