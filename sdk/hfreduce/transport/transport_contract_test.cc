// What every Transport promises (transport.h), over real sockets, for each wire that is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/transport/testing/nodes.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr Stream kDataStreams[] = {Stream::kUp0, Stream::kDown0, Stream::kUp1, Stream::kDown1, Stream::kDirect};

class TransportContract : public ::testing::TestWithParam<Wire> {
 protected:
  void SetUp() override { nodes_ = ConnectAll(OptionsOf(GetParam()), 2); }
  void TearDown() override { DestroyTogether(nodes_); }

  Transport& transport(std::size_t node) { return *nodes_[node].transport; }
  Recorder& recorder(std::size_t node) { return nodes_[node].recorder; }
  bool Until(const std::function<bool()>& condition) { return hfreduce::Until(nodes_, condition); }

  // Waits for credit where there is none. The payload stays until the test ends.
  void Send(std::size_t from, NodeIndex to, Stream stream, std::uint32_t chunk, std::size_t bytes) {
    const auto& payload = payloads_.emplace_back(Pattern(bytes, chunk));
    const MessageHeader header = HeaderOf(stream, chunk, bytes);
    ASSERT_TRUE(Until([&] { return transport(from).TrySend(to, header, payload); }));
  }

  void ExpectWhole(const Recorder::Message& message, std::uint32_t chunk) {
    EXPECT_EQ(message.header.chunk, chunk);
    EXPECT_EQ(message.header.operation, chunk + 1000ULL);
    EXPECT_EQ(message.header.signature, ~std::uint64_t{chunk});
    EXPECT_TRUE(message.payload == Pattern(message.header.bytes, chunk)) << "payload of chunk " << chunk;
  }

  std::vector<TestNode> nodes_;
  std::deque<std::vector<std::byte>> payloads_;
};

TEST_P(TransportContract, AStreamKeepsItsOrder) {
  constexpr std::uint32_t kMessages = 100;
  const std::size_t sizes[] = {1, 31, 100, 4096, 4097, 8192 - 32, 8192, 70'000, 0};
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (const Stream stream : kDataStreams) Send(0, 1, stream, i, sizes[i % std::size(sizes)]);
  }
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == kMessages * std::size(kDataStreams); }));
  for (const Stream stream : kDataStreams) {
    const auto messages = recorder(1).Of(stream);
    ASSERT_EQ(messages.size(), kMessages);
    for (std::uint32_t i = 0; i < kMessages; ++i) ExpectWhole(*messages[i], i);
  }
}

TEST_P(TransportContract, CreditsBoundWhatIsUnread) {
  recorder(1).release = false;
  const auto payload = Pattern(5000, 1);
  const MessageHeader header = HeaderOf(Stream::kUp0, 1, payload.size());
  for (std::uint32_t i = 0; i < kCredits; ++i) ASSERT_TRUE(transport(0).TrySend(1, header, payload));
  EXPECT_FALSE(transport(0).TrySend(1, header, payload));
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == kCredits; }));
  Settle(nodes_);
  EXPECT_FALSE(transport(0).TrySend(1, header, payload)) << "what was sent, but not released, keeps its credit";

  transport(1).Release(0, Stream::kUp0, recorder(1).messages[2].slot);
  ASSERT_TRUE(Until([&] { return transport(0).TrySend(1, header, payload); }));
  EXPECT_FALSE(transport(0).TrySend(1, header, payload)) << "one was released, one may go";
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == kCredits + 1; }));
}

TEST_P(TransportContract, ASlotKeepsItsPayloadUntilItIsReleased) {
  recorder(1).release = false;
  for (std::uint32_t i = 0; i < kCredits; ++i) Send(0, 1, Stream::kUp0, i, 20'000);
  for (std::uint32_t i = 0; i < kCredits; ++i) Send(0, 1, Stream::kUp1, 50 + i, 20'000);
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == 2 * kCredits; }));
  // The second is released and used again; the others must not notice.
  const auto first = recorder(1).Of(Stream::kUp0);
  transport(1).Release(0, Stream::kUp0, first[1]->slot);
  Send(0, 1, Stream::kUp0, 99, 20'000);
  ASSERT_TRUE(Until([&] { return recorder(1).Of(Stream::kUp0).size() == kCredits + 1; }));
  for (const Recorder::Message& message : recorder(1).messages) {
    if (&message == first[1]) continue;
    ASSERT_NE(message.slot, kNoSlot);
    EXPECT_EQ(std::memcmp(message.at, message.payload.data(), message.payload.size()), 0);
  }
}

TEST_P(TransportContract, APayloadLiesWhereTheReceiverWantsIt) {
  std::vector<std::byte> place(3 * kLargest);
  recorder(1).landing = [&](NodeIndex from, const MessageHeader& header) {
    EXPECT_EQ(from, 0U);
    return place.data() + header.chunk * kLargest;
  };
  const std::size_t sizes[] = {kLargest, 100, 300'000};
  // More than there are credits: a landed message gives its credit back by itself.
  for (std::uint32_t i = 0; i < 3 * kCredits; ++i) Send(0, 1, Stream::kDown0, i % 3, sizes[i % 3]);
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == 3 * kCredits; }));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Recorder::Message& message = recorder(1).messages[i];
    EXPECT_EQ(message.slot, kNoSlot);
    EXPECT_EQ(message.at, place.data() + i * kLargest);
    ExpectWhole(message, i);
  }
}

TEST_P(TransportContract, NoStreamWaitsForAnother) {
  recorder(1).release = false;
  for (const Stream stuck : {Stream::kUp0, Stream::kUp1, Stream::kDirect}) {
    for (std::uint32_t i = 0; i < kCredits; ++i) Send(0, 1, stuck, i, kLargest);
  }
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == 3 * kCredits; }));
  Settle(nodes_);
  const auto payload = Pattern(10, 1);
  EXPECT_FALSE(transport(0).TrySend(1, HeaderOf(Stream::kUp0, 1, 10), payload));
  std::byte place[64];
  recorder(1).landing = [&](NodeIndex, const MessageHeader&) { return place; };
  for (std::uint32_t i = 0; i < 3 * kCredits; ++i) Send(0, 1, Stream::kDown0, i, 10);
  EXPECT_TRUE(Until([&] { return recorder(1).Of(Stream::kDown0).size() == 3 * kCredits; }));
}

TEST_P(TransportContract, ControlAlwaysHasCreditAndIsCopied) {
  constexpr std::uint32_t kMessages = 200;
  auto payload = Pattern(4096, 0);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const auto fresh = Pattern(i % 2 == 0 ? 4096 : 10, i);
    std::copy(fresh.begin(), fresh.end(), payload.begin());
    ASSERT_TRUE(transport(0).TrySend(1, HeaderOf(Stream::kControl, i, fresh.size()), {payload.data(), fresh.size()}));
  }
  std::fill(payload.begin(), payload.end(), std::byte{0});
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == kMessages; }));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    ExpectWhole(recorder(1).messages[i], i);
    EXPECT_EQ(recorder(1).messages[i].slot, kNoSlot);
  }
  EXPECT_TRUE(Until([&] { return recorder(0).sent.size() == kMessages; }));
}

TEST_P(TransportContract, AMessageWithoutPayloadNeedsNoSlot) {
  for (std::uint32_t i = 0; i < 3 * kCredits; ++i) Send(0, 1, Stream::kDirect, i, 0);
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == 3 * kCredits; }));
  for (const auto& message : recorder(1).messages) {
    EXPECT_EQ(message.header.bytes, 0U);
    EXPECT_EQ(message.slot, kNoSlot);
  }
}

TEST_P(TransportContract, SentComesForEachMessageInOrder) {
  EXPECT_EQ(transport(0).MessageBytesMax(), kLargest);
  for (std::uint32_t i = 0; i < 20; ++i) Send(0, 1, Stream::kUp1, i, i % 3 == 0 ? kLargest : 5);
  ASSERT_TRUE(Until([&] { return recorder(0).sent.size() == 20 && recorder(1).messages.size() == 20; }));
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(recorder(0).sent[i].first, 1U);
    EXPECT_EQ(recorder(0).sent[i].second.chunk, i);
    ExpectWhole(recorder(1).messages[i], i);
  }
}

TEST_P(TransportContract, BothDirectionsAtOnceDoNotBlockEachOther) {
  constexpr std::uint32_t kMessages = 16;
  const auto payload = Pattern(kLargest, 5);
  std::uint32_t next[2][std::size(kDataStreams)] = {};
  const auto push = [&] {
    for (std::uint32_t node = 0; node < 2; ++node) {
      for (std::size_t s = 0; s < std::size(kDataStreams); ++s) {
        if (next[node][s] < kMessages &&
            transport(node).TrySend(1 - node, HeaderOf(kDataStreams[s], next[node][s], kLargest), payload)) {
          ++next[node][s];
        }
      }
    }
  };
  std::size_t received[2] = {};
  for (std::size_t node = 0; node < 2; ++node) {
    recorder(node).received = [&, node](const Recorder::Message& message) {
      EXPECT_TRUE(message.payload == payload);
      ++received[node];
      recorder(node).messages.clear();
    };
  }
  const std::size_t all = kMessages * std::size(kDataStreams);
  ASSERT_TRUE(Until([&] {
    push();
    return received[0] == all && received[1] == all;
  }));
}

TEST_P(TransportContract, BytesSentCountPayloadAndHeaders) {
  EXPECT_EQ(transport(0).BytesSentTo(1), 0U);
  Send(0, 1, Stream::kUp0, 1, 100'000);
  ASSERT_TRUE(Until([&] { return recorder(1).messages.size() == 1 && recorder(0).sent.size() == 1; }));
  EXPECT_GE(transport(0).BytesSentTo(1), 100'032U);
  EXPECT_LE(transport(0).BytesSentTo(1), 100'128U);
}

TEST_P(TransportContract, AReceiverMayAnswerFromWithin) {
  const auto payload = Pattern(1000, 1);
  int left = 200;
  for (std::uint32_t node = 0; node < 2; ++node) {
    recorder(node).received = [&, node](const Recorder::Message& message) {
      if (--left > 0) {
        EXPECT_TRUE(transport(node).TrySend(1 - node, message.header, payload));
      }
    };
  }
  ASSERT_TRUE(transport(0).TrySend(1, HeaderOf(Stream::kDirect, 1, 1000), payload));
  EXPECT_TRUE(Until([&] { return left == 0; }));
}

// One side of a long exchange that does nothing but sleep in poll while there is nothing to do.
void SleepAndAnswer(TestNode& node, NodeIndex peer, std::uint32_t rounds, bool begins, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> payload = Pattern(kLargest, 3);
  std::uint32_t to_send = begins ? 1 : 0;
  std::uint32_t sent = 0;
  std::uint32_t got = 0;
  node.recorder.received = [&](const Recorder::Message&) {
    ++got;
    ++to_send;
    node.recorder.messages.clear();
  };
  const std::uint32_t most = rounds + (begins ? 1 : 0);
  while (got < rounds || sent < most) {
    bool any = false;
    if (to_send > 0 && sent < most) {
      // Mostly small, now and then larger than the socket takes at once.
      const std::size_t bytes = random() % 16 == 0 ? random() % kLargest : random() % 2000;
      const Stream stream = kDataStreams[random() % std::size(kDataStreams)];
      if (node.transport->TrySend(peer, HeaderOf(stream, sent, bytes), {payload.data(), bytes})) {
        ++sent;
        --to_send;
        any = true;
      }
    }
    if (node.transport->Progress(node.recorder)) any = true;
    if (any || !node.transport->Arm()) continue;
    pollfd polled{node.transport->EventDescriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&polled, 1, LongWaitMs()), 1) << "asleep with " << got << " of " << rounds;
  }
}

TEST_P(TransportContract, NoWakeUpIsEverMissed) {
  const std::uint32_t rounds = RoundsOver(GetParam(), 3000, 200);
  std::thread other([&] { SleepAndAnswer(nodes_[1], 0, rounds + 1, false, 17); });
  SleepAndAnswer(nodes_[0], 1, rounds + 1, true, 42);
  other.join();
}

TEST_P(TransportContract, TheLastWordsOfANodeThatLeavesArrive) {
  for (std::uint32_t i = 0; i < kCredits; ++i) Send(0, 1, Stream::kUp0, i, kLargest);
  // Something unread lies at the leaving node, which would reset a connection that is simply closed.
  Send(1, 0, Stream::kUp1, 1, 1000);
  ASSERT_TRUE(transport(0).TrySend(1, HeaderOf(Stream::kControl, 7, 3), Pattern(3, 7)));
  std::thread leaving([&] {
    Recorder& own = nodes_[0].recorder;
    while (own.sent.size() < kCredits) nodes_[0].transport->Progress(own);
    nodes_[0].transport.reset();
  });
  const auto end = std::chrono::steady_clock::now() + LongWait();
  while (recorder(1).failures.empty() && std::chrono::steady_clock::now() < end) transport(1).Progress(recorder(1));
  leaving.join();
  ASSERT_EQ(recorder(1).failures.size(), 1U);
  EXPECT_EQ(recorder(1).failures[0].first, 0U);
  EXPECT_THAT(recorder(1).failures[0].second, HasSubstr("ended the connection"));
  EXPECT_EQ(recorder(1).Of(Stream::kUp0).size(), kCredits);
  EXPECT_EQ(recorder(1).Of(Stream::kControl).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Wires, TransportContract, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

class TransportMesh : public ::testing::TestWithParam<Wire> {};

TEST_P(TransportMesh, EveryPairTalksAndOnlyTheDeadOneFails) {
  constexpr NodeIndex kNodes = 4;
  auto nodes = ConnectAll(OptionsOf(GetParam()), kNodes);
  const auto payload = Pattern(50'000, 1);
  const auto send_all = [&] {
    std::size_t alive = 0;
    for (NodeIndex from = 0; from < kNodes; ++from) {
      if (!nodes[from].transport) continue;
      ++alive;
      nodes[from].recorder.messages.clear();
    }
    for (NodeIndex from = 0; from < kNodes; ++from) {
      for (NodeIndex to = 0; to < kNodes; ++to) {
        if (from == to || !nodes[from].transport || !nodes[to].transport) continue;
        EXPECT_TRUE(nodes[from].transport->TrySend(to, HeaderOf(Stream::kUp0, from, payload.size()), payload));
      }
    }
    return Until(nodes, [&] {
      return std::all_of(nodes.begin(), nodes.end(), [&](const TestNode& node) {
        return !node.transport || node.recorder.messages.size() == alive - 1;
      });
    });
  };
  ASSERT_TRUE(send_all());
  nodes[2].transport.reset();
  ASSERT_TRUE(Until(nodes, [&] {
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const TestNode& node) { return !node.transport || node.recorder.failures.size() == 1; });
  }));
  EXPECT_FALSE(nodes[0].transport->TrySend(2, HeaderOf(Stream::kDown0, 1, payload.size()), payload));
  EXPECT_TRUE(send_all());
  Settle(nodes);
  EXPECT_EQ(nodes[0].recorder.failures.size(), 1U) << "a failure is told once";
  EXPECT_EQ(nodes[0].recorder.failures[0].first, 2U);
  DestroyTogether(nodes);
}

std::size_t OpenDescriptors() {
  const auto listing = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(listing), end(listing)));
}

TEST_P(TransportMesh, ManyRoundsLeakNoDescriptor) {
  const auto round = [&] {
    auto nodes = ConnectAll(OptionsOf(GetParam()), 2);
    const auto payload = Pattern(10'000, 1);
    EXPECT_TRUE(nodes[0].transport->TrySend(1, HeaderOf(Stream::kUp0, 1, payload.size()), payload));
    EXPECT_TRUE(Until(nodes, [&] { return nodes[1].recorder.messages.size() == 1; }));
    DestroyTogether(nodes);
  };
  round();  // what a library opens once for the process
  const std::size_t before = OpenDescriptors();
  for (std::uint32_t i = 0; i < RoundsOver(GetParam(), 200, 3); ++i) round();
  EXPECT_EQ(OpenDescriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Wires, TransportMesh, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace glim::hfreduce
