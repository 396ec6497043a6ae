// What is handed on to gRPC of a connection, and what is hung up on: frame by frame, in whatever pieces it comes.
#include "scheduler/server/listen/frame_guard.h"

#include <gmock/gmock.h>

#include <string>

#include "sdk/net/testing/raw_http2.h"

namespace glim::server {
namespace {

using namespace net::testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

constexpr TimePoint kStart{1'000'000};

// In pieces of so many bytes.
std::string Fault(const std::string& bytes, std::size_t piece = 1 << 20) {
  FrameGuard guard;
  std::string fault;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    fault = guard.Take(std::string_view(bytes).substr(at, piece), kStart);
  }
  return fault;
}

std::string Repeated(const std::string& frame, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += frame;
  return all;
}

const std::string kCall = RawFrame(kRawHeaders, kRawEndHeaders, 1, RawCallHeaders("/a/b"));

TEST(FrameGuard, WhatAClientOfGrpcSendsIsHandedOnInWhateverPiecesItComes) {
  std::string sent = RawPreface();
  for (std::uint32_t stream = 1; stream < 4'001; stream += 2) {
    sent += RawFrame(kRawHeaders, kRawEndHeaders, stream, RawCallHeaders("/a/b"));
    sent += RawFrame(kRawData, 0, stream, std::string(9'000, 'x')) + RawFrame(kRawData, kRawEndStream, stream, "");
    sent += RawFrame(6, 0, 0, "12345678") + RawFrame(8, 0, stream, "1234") + RawFrame(3, 0, stream, "1234");
  }
  for (const std::size_t piece : {1U, 7U, 8'192U, 1U << 20}) EXPECT_EQ(Fault(sent, piece), "") << piece;
}

TEST(FrameGuard, AHeaderBlockHasSoManyBytes) {
  const auto block = [](std::size_t bytes, std::uint8_t flags) {
    return RawPreface() + RawFrame(kRawHeaders, flags, 1, std::string(bytes, 'x'));
  };
  constexpr std::size_t kHead = 9;
  EXPECT_EQ(Fault(block(FrameGuard::kBlockBytesMax - kHead, kRawEndHeaders)), "");
  EXPECT_THAT(Fault(block(FrameGuard::kBlockBytesMax - kHead + 1, kRawEndHeaders)), HasSubstr("block is too long"));
  EXPECT_EQ(Fault(block(8'000, 0) + RawFrame(kRawContinuation, kRawEndHeaders, 1, std::string(8'000, 'x'))), "");
  EXPECT_THAT(Fault(block(8'000, 0) + RawFrame(kRawContinuation, kRawEndHeaders, 1, std::string(8'400, 'x'))),
              HasSubstr("block is too long"));
  const std::string huge = RawPreface() + BigEndian(0xffffff, 3) + BigEndian(kRawHeaders, 1);
  EXPECT_THAT(Fault(huge + BigEndian(0, 1) + BigEndian(1, 4)), HasSubstr("too long")) << "before it has come";
}

TEST(FrameGuard, AHeaderBlockHasSoManyFramesAlsoWithoutAByte) {
  const std::string begun = RawPreface() + RawFrame(kRawHeaders, 0, 1, "");
  const std::string more = RawFrame(kRawContinuation, 0, 1, "");
  const std::string last = RawFrame(kRawContinuation, kRawEndHeaders, 1, "");
  EXPECT_EQ(Fault(begun + Repeated(more, FrameGuard::kBlockFramesMax - 2) + last + kCall), "");
  EXPECT_THAT(Fault(begun + Repeated(more, FrameGuard::kBlockFramesMax)), HasSubstr("block is too long"));
}

// The second of a stream are trailers; whatever came before, each has the bound alone.
TEST(FrameGuard, WhatCameBeforeGivesNoBlockMore) {
  const std::string before = RawPreface() + Repeated(kCall + RawFrame(kRawData, 0, 1, std::string(16'000, 'x')), 1'000);
  const std::string trailers =
      RawFrame(kRawHeaders, kRawEndStream, 1, "") + Repeated(RawFrame(kRawContinuation, 0, 1, "x"), 4);
  EXPECT_THAT(Fault(before + trailers), HasSubstr("block is too long"));
}

TEST(FrameGuard, AHeaderBlockIsThereInTime) {
  const auto fault = [](Duration after, const std::string& next) {
    FrameGuard guard;
    EXPECT_EQ(guard.Take(RawPreface() + RawFrame(kRawHeaders, 0, 1, ""), kStart), "");
    return std::string(guard.Take(next, kStart + after));
  };
  const std::string last = RawFrame(kRawContinuation, kRawEndHeaders, 1, "x");
  EXPECT_EQ(fault(FrameGuard::kBlockTimeMax, last.substr(0, 1)), "");
  EXPECT_THAT(fault(FrameGuard::kBlockTimeMax + Milliseconds(1), last.substr(0, 1)), HasSubstr("too long"));
  FrameGuard idle;
  EXPECT_EQ(idle.Take(RawPreface() + kCall, kStart), "");
  EXPECT_EQ(idle.Take(kCall, kStart + Hours(100)), "") << "between blocks is any time";
}

TEST(FrameGuard, WhatMeansNothingHasSoManyBytes) {
  const std::string kinds[] = {RawFrame(kRawPriority, 0, 1, "12345"),
                               RawFrame(kRawUnknown, 0, 0, std::string(1'000, 'x')),
                               RawFrame(kRawPushPromise, kRawEndHeaders, 1, "1234"),
                               RawFrame(kRawGoAway, 0, 0, std::string(1'000, 'x')),
                               RawFrame(kRawData, 0, 1, ""),
                               RawFrame(kRawSettings, 0, 0, std::string(1'200, 'x'))};
  for (const std::string& kind : kinds) {
    const std::size_t times = FrameGuard::kIdleBytesMax / kind.size();
    std::string well = RawPreface() + kCall;
    well.append(Repeated(kind, times)).append(kCall);
    EXPECT_EQ(Fault(well), "") << int{kind[3]};
    std::string too_many = RawPreface() + kCall;
    too_many.append(Repeated(std::string(kCall).append(kind), times + 1));
    EXPECT_THAT(Fault(too_many), HasSubstr("mean nothing")) << int{kind[3]};
  }
}

TEST(FrameGuard, NothingComesBetweenTheFramesOfABlock) {
  const std::string begun = RawPreface() + RawFrame(kRawHeaders, 0, 1, "");
  for (const std::string& other : {kCall, RawFrame(kRawData, 0, 1, "x"), RawFrame(kRawSettings, 0, 0, ""),
                                   RawFrame(kRawContinuation, kRawEndHeaders, 3, "")}) {
    EXPECT_THAT(Fault(begun + other), HasSubstr("order"));
  }
  EXPECT_THAT(Fault(RawPreface() + RawFrame(kRawContinuation, kRawEndHeaders, 1, "")), HasSubstr("order"));
}

TEST(FrameGuard, WhoSpeaksSomethingElseIsHungUpOnAndStaysSo) {
  EXPECT_THAT(Fault("GET / HTTP/1.1\r\n"), HasSubstr("no HTTP/2"));
  FrameGuard guard;
  EXPECT_NE(guard.Take("PRX", kStart), "");
  EXPECT_NE(guard.Take(RawPreface(), kStart), "");
}

}  // namespace
}  // namespace glim::server
