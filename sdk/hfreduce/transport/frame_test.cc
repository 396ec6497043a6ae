// The words on the wire and the rules about them, without a wire.
#include "sdk/hfreduce/transport/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sdk/hfreduce/transport/hello.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;

Frame Example() {
  const MessageHeader header{0x1122334455667788, 0x99aabbccddeeff00, 77, 4096, Stream::kDown1};
  return {header, FrameKind::kPlaced, 3, 200, {1, 2, 4, 8, 15}};
}

TEST(Frame, IsTheSameAfterTheWire) {
  const Frame frame = Example();
  const Frame back = std::get<Frame>(Decode(Encode(frame)));
  EXPECT_EQ(back.header.operation, frame.header.operation);
  EXPECT_EQ(back.header.signature, frame.header.signature);
  EXPECT_EQ(back.header.chunk, frame.header.chunk);
  EXPECT_EQ(back.header.bytes, frame.header.bytes);
  EXPECT_EQ(back.header.stream, frame.header.stream);
  EXPECT_EQ(back.kind, frame.kind);
  EXPECT_EQ(back.slot, frame.slot);
  EXPECT_EQ(back.sequence, frame.sequence);
  EXPECT_EQ(back.returned, frame.returned);
}

TEST(Frame, IsRefusedWithTheRuleItBreaks) {
  const struct {
    const char* rule;
    std::function<void(Frame&)> change;
  } cases[] = {
      {"unknown kind 7", [](Frame& f) { f.kind = static_cast<FrameKind>(7); }},
      {"unknown stream 9", [](Frame& f) { f.header.stream = static_cast<Stream>(9); }},
      {"slot 4", [](Frame& f) { f.slot = kCredits; }},
      {"returns a slot that does not exist", [](Frame& f) { f.returned[2] = 1U << kCredits; }},
      {"1048577 bytes", [](Frame& f) { f.header.bytes = kTransportMessageBytesMax + 1; }},
      {"4097 bytes",
       [](Frame& f) {
         f.kind = FrameKind::kMessage;
         f.header.stream = Stream::kControl;
         f.header.bytes = kControlPayloadMax + 1;
       }},
      {"control message in a slot", [](Frame& f) { f.header.stream = Stream::kControl; }},
      {"announces 4096 bytes", [](Frame& f) { f.kind = FrameKind::kReturns; }},
  };
  for (const auto& one : cases) {
    Frame frame = Example();
    one.change(frame);
    const auto decoded = Decode(Encode(frame));
    ASSERT_TRUE(std::holds_alternative<std::string>(decoded)) << one.rule;
    EXPECT_THAT(std::get<std::string>(decoded), HasSubstr(one.rule));
  }
}

Frame MessageIn(std::uint8_t slot, std::uint8_t sequence) {
  Frame frame;
  frame.header.stream = Stream::kUp0;
  frame.slot = slot;
  frame.sequence = sequence;
  return frame;
}

TEST(EdgeCredits, ASenderHasAsManySlotsAsCredits) {
  EdgeCredits credits;
  for (std::uint8_t i = 0; i < kCredits; ++i) EXPECT_EQ(credits.Take(Stream::kUp0), i);
  EXPECT_EQ(credits.Take(Stream::kUp0), std::nullopt);
  EXPECT_EQ(credits.Take(Stream::kDown0), 0) << "each stream has its own";
  EXPECT_TRUE(credits.TakeBack({0b0100}));
  EXPECT_EQ(credits.Take(Stream::kUp0), 2);
  EXPECT_TRUE(credits.TakeBack({0b0001}));
  EXPECT_FALSE(credits.TakeBack({0b0001})) << "returned twice";
}

TEST(EdgeCredits, AReceiverRefusesAMessageWithoutACredit) {
  EdgeCredits credits;
  EXPECT_EQ(credits.Accept(MessageIn(1, 0)), nullptr);
  EXPECT_THAT(credits.Accept(MessageIn(1, 1)), HasSubstr("without a credit"));
  credits.Free(Stream::kUp0, 1);
  EXPECT_THAT(credits.Accept(MessageIn(1, 2)), HasSubstr("without a credit")) << "free, but the sender cannot know";
  EXPECT_EQ(credits.TakeReturns()[0], 0b0010);
  EXPECT_EQ(credits.Accept(MessageIn(1, 3)), nullptr);
}

TEST(EdgeCredits, AReceiverSeesThatAMessageIsMissing) {
  EdgeCredits credits;
  EXPECT_EQ(credits.Accept(MessageIn(0, 0)), nullptr);
  EXPECT_THAT(credits.Accept(MessageIn(1, 2)), HasSubstr("out of order"));
}

TEST(EdgeCredits, ReturnsAreUrgentBeforeTheSenderRunsDry) {
  EdgeCredits credits;
  for (std::uint8_t i = 0; i < kCredits; ++i) ASSERT_EQ(credits.Accept(MessageIn(i, i)), nullptr);
  EXPECT_FALSE(credits.HasReturns());
  credits.Free(Stream::kUp0, 0);
  EXPECT_TRUE(credits.HasReturns());
  EXPECT_TRUE(credits.ReturnsAreUrgent()) << "the other slots are full";
  credits.TakeReturns();
  EXPECT_FALSE(credits.HasReturns());
  EXPECT_FALSE(credits.ReturnsAreUrgent());
}

TEST(EdgeCredits, OneThatIsNotMissedWaitsForAMessage) {
  EdgeCredits credits;
  ASSERT_EQ(credits.Accept(MessageIn(0, 0)), nullptr);
  credits.Free(Stream::kUp0, 0);
  EXPECT_TRUE(credits.HasReturns());
  EXPECT_FALSE(credits.ReturnsAreUrgent());
  ASSERT_EQ(credits.Accept(MessageIn(1, 1)), nullptr);
  EXPECT_TRUE(credits.ReturnsAreUrgent()) << "half of the slots are not the sender's";
}

TEST(Hello, IsTheSameAfterTheWireAndNothingElseIsOne) {
  const Hello hello{kWireVersion, TransportKind::kUcx, true, Verdict::kOtherId, 5, 9, std::string(kIdBytesMax, 'x')};
  HelloBytes bytes = Encode(hello);
  const auto back = DecodeHello(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->transport, hello.transport);
  EXPECT_EQ(back->is_answer, hello.is_answer);
  EXPECT_EQ(back->verdict, hello.verdict);
  EXPECT_EQ(back->from, hello.from);
  EXPECT_EQ(back->to, hello.to);
  EXPECT_EQ(back->id, hello.id);
  HelloBytes long_id = bytes;
  long_id[15] = std::byte{kIdBytesMax + 1};
  EXPECT_FALSE(DecodeHello(long_id).has_value());
  bytes[0] = std::byte{'X'};
  EXPECT_FALSE(DecodeHello(bytes).has_value());
}

}  // namespace
}  // namespace glim::hfreduce
