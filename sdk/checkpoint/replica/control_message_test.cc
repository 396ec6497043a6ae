// Frames: everything goes through as it was, and nothing else gets through.
#include "sdk/checkpoint/replica/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/base/rng.h"

namespace glim::checkpoint {
namespace {

std::uint64_t Below(Rng& rng, std::uint64_t n) { return rng.Next() % n; }

std::vector<ControlMessage> Samples() {
  Nonce nonce;
  nonce.fill(std::byte{7});
  Proof proof;
  proof.fill(std::byte{0xfe});
  return {Hello{2, "17", 3, nonce},
          Challenge{nonce},
          Answer{"certificate", proof, std::string("\0worker\xff", 8)},
          Welcome{proof, "worker", 0x0123456789abcdefULL},
          Reserve{{3, 1ULL << 40, 5}, {8, 1ULL << 33, 4711}},
          Grant{0xffffffffffffffffULL, "key"},
          Commit{0xdeadbeef},
          Done{},
          List{9},
          Listing{{{{1, 2, 3}, {4, 5, 6}}, {{1, 3, 3}, {4, 5, 6}}}, true},
          Open{{1, 2, 3}},
          Opened{12, "key", {4, 5, 6}, 99},
          Drop{},
          Refused{8, "no room", "REPLICA_MEMORY", "more memory"}};
}

TEST(ControlMessage, EveryKindGoesThroughAsItWas) {
  const std::vector<ControlMessage> samples = Samples();
  ASSERT_EQ(samples.size(), std::variant_size_v<ControlMessage>);
  std::string all;
  for (const ControlMessage& sample : samples) all += Encode(sample);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ControlMessage message;
    ASSERT_EQ(TakeFrame(all, message).value(), true);
    EXPECT_EQ(message.index(), i);
    EXPECT_EQ(Encode(message), Encode(samples[i]));
  }
  EXPECT_TRUE(all.empty());
}

TEST(ControlMessage, TheLayoutIsAsDocumented) {
  const std::string frame = Encode(List{0x01020304});
  ASSERT_EQ(frame.size(), 13U);
  EXPECT_EQ(frame.substr(0, 4), std::string("\x05\0\0\0", 4));
  EXPECT_EQ(frame.substr(8), std::string("\x08\x04\x03\x02\x01"));
}

TEST(ControlMessage, HalfAFrameWaitsForItsRest) {
  const std::string frame = Encode(Samples()[4]);
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
    std::string input = frame.substr(0, bytes);
    ControlMessage message;
    EXPECT_EQ(TakeFrame(input, message).value(), false);
    EXPECT_EQ(input.size(), bytes);
  }
}

TEST(ControlMessage, AChangedByteIsNoticed) {
  for (const ControlMessage& sample : Samples()) {
    const std::string frame = Encode(sample);
    for (std::size_t at = 0; at < frame.size(); ++at) {
      std::string changed = frame;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      ControlMessage message;
      const Result<bool> taken = TakeFrame(changed, message);
      // A changed length may also make a frame wait for bytes that never come.
      EXPECT_TRUE(!taken.ok() || (at < 4 && !*taken)) << "byte " << at;
    }
  }
}

TEST(ControlMessage, BodiesThatKeepNoRuleAreRefused) {
  EXPECT_FALSE(DecodeBody("").ok());
  EXPECT_FALSE(DecodeBody("\x0e").ok());  // a kind beyond the last
  for (const ControlMessage& sample : Samples()) {
    const std::string body = Encode(sample).substr(kFrameHeadBytes);
    ASSERT_TRUE(DecodeBody(body).ok());
    EXPECT_FALSE(DecodeBody(body + '\0').ok()) << "something left over, kind " << sample.index();
    EXPECT_FALSE(DecodeBody(body.substr(0, body.size() - 1)).ok()) << "something missing, kind " << sample.index();
  }
  // A list and a text that say they are longer than they may be.
  EXPECT_FALSE(DecodeBody(std::string("\x09\xff\xff\xff\xff", 5)).ok());
  EXPECT_FALSE(DecodeBody(std::string("\x05\0\0\0\0\0\0\0\0\xff\xff\xff\x7f", 13)).ok());
}

TEST(ControlMessage, AnythingIsRefusedOrReadWithoutHarm) {
  const std::vector<ControlMessage> samples = Samples();
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    std::string body = Encode(samples[Below(rng, samples.size())]).substr(kFrameHeadBytes);
    for (std::uint64_t changes = Below(rng, 4) + 1; changes > 0; --changes) {
      body[Below(rng, body.size())] = static_cast<char>(Below(rng, 256));
    }
    if (Below(rng, 2) == 0) body.resize(Below(rng, body.size() + 8));
    const Result<ControlMessage> decoded = DecodeBody(body);
    if (decoded.ok()) {
      EXPECT_EQ(Encode(*decoded).substr(kFrameHeadBytes), body) << "seed " << seed;
    }
  }
}

TEST(ControlMessage, ARefusalKeepsWhatAPersonNeeds) {
  const Status status = Status(StatusCode::kResourceExhausted, "no room").WithReason("REPLICA_MEMORY").WithFix("more");
  EXPECT_EQ(StatusOf(RefusalOf(status)), status);
  EXPECT_EQ(StatusOf(Refused{0, "fine?", "", ""}).code(), StatusCode::kUnknown) << "a refusal is never OK";
  EXPECT_EQ(StatusOf(Refused{99, "", "", ""}).code(), StatusCode::kUnknown);
}

}  // namespace
}  // namespace glim::checkpoint
