// How nodes find and know each other, for each wire: who is missing, who is refused, and that noise harms nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/transport/hello.h"
#include "sdk/hfreduce/transport/testing/nodes.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Made = Result<std::unique_ptr<Transport>>;

Made Connect(const TransportOptions& options, NodeIndex self, std::vector<NodeIndex> peers, Store& store,
             Duration timeout = LongWaitDuration()) {
  return ConnectTransport(options, self, peers, store, timeout);
}

class Edges : public ::testing::TestWithParam<Wire> {
 protected:
  TransportOptions options_ = OptionsOf(GetParam());
  MemoryStore store_;
};

TEST_P(Edges, NamesThePeerThatNeverCame) {
  const Made alone = Connect(options_, 0, {1, 3}, store_, Milliseconds(100));
  EXPECT_EQ(alone.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(alone.status().message(), HasSubstr("node 1"));
}

TEST_P(Edges, NamesThePeerThatNeverConnected) {
  const Made alone = Connect(options_, 4, {1, 3}, store_, Milliseconds(100));
  EXPECT_EQ(alone.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(alone.status().message(), AllOf(HasSubstr("node 1"), HasSubstr("node 3")));
}

TEST_P(Edges, NamesThePeerThatIsGone) {
  const auto gone = net::ResolveAddress("127.0.0.1", 0);
  const std::string address = net::LocalAddress(net::Listen(*gone)->get())->ToString();
  ASSERT_TRUE(store_.Set("edge/contract/1", address).ok());
  const Made alone = Connect(options_, 0, {1}, store_, Milliseconds(100));
  EXPECT_EQ(alone.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(alone.status().message(), AllOf(HasSubstr("node 1"), HasSubstr(address)));
}

TEST_P(Edges, ANodeThatIsThereTwiceIsNamed) {
  ASSERT_TRUE(store_.Set("edge/contract/2", "127.0.0.1:1").ok());
  const Made second = Connect(options_, 2, {1}, store_, Milliseconds(100));
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("node 2"));
}

TEST_P(Edges, OptionsThatCannotBeAreRefusedByName) {
  const struct {
    const char* field;
    std::function<void(TransportOptions&)> change;
  } cases[] = {
      {"id", [](TransportOptions& o) { o.id.clear(); }},
      {"id", [](TransportOptions& o) { o.id.assign(kIdBytesMax + 1, 'x'); }},
      {"listen_address", [](TransportOptions& o) { o.listen_address = "0.0.0.0"; }},
      {"listen_address", [](TransportOptions& o) { o.listen_address = "no such host"; }},
      {"congestion", [](TransportOptions& o) { o.congestion = "teleport"; }},
      {"service_level", [](TransportOptions& o) { o.service_level = 16; }},
      {"peer_timeout", [](TransportOptions& o) { o.peer_timeout = Milliseconds(1); }},
      {"socket_buffer_bytes", [](TransportOptions& o) { o.socket_buffer_bytes = -1; }},
  };
  for (const auto& one : cases) {
    TransportOptions options = options_;
    one.change(options);
    const Made made = Connect(options, 0, {}, store_);
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument) << one.field;
    EXPECT_EQ(made.status().field(), one.field);
  }
  EXPECT_EQ(Connect(options_, 0, {0}, store_).status().field(), "peers");
  EXPECT_EQ(Connect(options_, 0, {1, 1}, store_).status().field(), "peers");
}

// Somebody who has learnt the address of a node that waits for its peer 0.
UniqueFd CallNode(Store& store, NodeIndex node) {
  const std::string address = store.Get("edge/contract/" + std::to_string(node), LongWaitDuration()).value();
  Result<UniqueFd> socket = net::StartConnect(*net::ParseAddress(address));
  GLIM_CHECK(socket.ok(), socket.status().message());
  pollfd polled{socket->get(), POLLOUT, 0};
  ::poll(&polled, 1, LongWaitMs());
  return std::move(socket).value();
}

// All that the other side says until it ends the connection.
std::string HearAll(int socket) {
  std::string heard;
  char buffer[256];
  for (;;) {
    pollfd polled{socket, POLLIN, 0};
    if (::poll(&polled, 1, LongWaitMs()) != 1) return heard + " and never ended";
    const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) return heard;
    heard.append(buffer, static_cast<std::size_t>(n));
  }
}

void Say(int socket, const void* data, std::size_t bytes) {
  GLIM_CHECK(::send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes), "a test's hello");
}

TEST_P(Edges, StrangersAreRefusedAndThePeerStillComes) {
  Made one = Status(StatusCode::kUnknown, "not made");
  std::thread waiting([&] { one = Connect(options_, 1, {0}, store_); });

  const UniqueFd noise = CallNode(store_, 1);
  const std::string garbage(kHelloBytes, 'G');
  Say(noise.get(), garbage.data(), garbage.size());
  EXPECT_EQ(HearAll(noise.get()), "") << "noise is not answered";

  const Hello right{kWireVersion, options_.kind, false, Verdict::kAccepted, 0, 1, "contract"};
  const struct {
    Verdict verdict;
    std::function<void(Hello&)> change;
  } cases[] = {
      {Verdict::kOtherVersion, [](Hello& h) { h.version = kWireVersion + 1; }},
      {Verdict::kOtherId, [](Hello& h) { h.id = "another"; }},
      {Verdict::kOtherTransport, [](Hello& h) { h.transport = static_cast<TransportKind>(9); }},
      {Verdict::kUnexpectedNode, [](Hello& h) { h.from = 7; }},
      {Verdict::kUnexpectedNode, [](Hello& h) { h.to = 2; }},
  };
  for (const auto& one_case : cases) {
    Hello hello = right;
    one_case.change(hello);
    const UniqueFd stranger = CallNode(store_, 1);
    const HelloBytes bytes = Encode(hello);
    Say(stranger.get(), bytes.data(), bytes.size());
    const std::string heard = HearAll(stranger.get());
    ASSERT_EQ(heard.size(), kHelloBytes);
    const auto answer = DecodeHello(
        std::span<const std::byte, kHelloBytes>(reinterpret_cast<const std::byte*>(heard.data()), kHelloBytes));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->verdict, one_case.verdict);
    EXPECT_EQ(answer->id, "") << "a stranger does not learn the id";
  }
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(CallNode(store_, 1));

  Made zero = Connect(options_, 0, {1}, store_);
  waiting.join();
  ASSERT_TRUE(zero.ok()) << zero.status().message();
  ASSERT_TRUE(one.ok()) << one.status().message();
  std::thread leaving([&] { std::move(one).value().reset(); });
  std::move(zero).value().reset();
  leaving.join();
}

TEST_P(Edges, ANodeOfAnotherCommunicatorIsToldWhy) {
  MemoryStore other_store;
  Made one = Status(StatusCode::kUnknown, "not made");
  std::thread waiting([&] { one = Connect(options_, 1, {0}, store_, Slower(Seconds(1))); });
  TransportOptions other = options_;
  other.id = "another";
  ASSERT_TRUE(other_store.Set("edge/another/1", store_.Get("edge/contract/1", LongWaitDuration()).value()).ok());
  const Made zero = Connect(other, 0, {1}, other_store);
  waiting.join();
  EXPECT_EQ(zero.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(zero.status().message(), AllOf(HasSubstr("node 1"), HasSubstr("another communicator")));
  EXPECT_EQ(one.status().code(), StatusCode::kDeadlineExceeded);
}

INSTANTIATE_TEST_SUITE_P(Wires, Edges, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace glim::hfreduce
