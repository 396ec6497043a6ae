// Writers and readers over channels that cut requests short, fail them or interrupt them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/checkpoint/io/image_writer.h"
#include "sdk/checkpoint/io/make_channel.h"
#include "sdk/checkpoint/io/range_reader.h"
#include "sdk/checkpoint/io/testing/io_cases.h"

namespace glim::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using RequestFault = FaultyChannel::RequestFault;

constexpr std::optional<std::int64_t> kHandOn = std::nullopt;

// The n-th request completes with `result`.
RequestFault At(std::size_t n, std::int64_t result) {
  return [=](std::size_t number, IoRequest&) { return number == n ? std::optional(result) : kHandOn; };
}

// Some file systems let O_DIRECT be set and then refuse each request.
std::optional<std::int64_t> RefuseDirect(std::size_t, IoRequest& request) {
  if ((::fcntl(request.fd, F_GETFL) & O_DIRECT) != 0) return -EINVAL;
  return std::nullopt;
}

// To whole pages, as a disk would.
std::optional<std::int64_t> ShortenSome(std::size_t number, IoRequest& request) {
  if (number % 3 == 1) request.bytes = std::min<std::uint64_t>(request.bytes, kPageBytes * (1 + number % 7));
  return std::nullopt;
}

class Faults : public testing::TestWithParam<IoCase> {
 protected:
  std::unique_ptr<Channel> Faulty(IoDirection direction, RequestFault fault) {
    auto channel = MakeChannel(options_, folder_.path(), direction);
    EXPECT_TRUE(channel.ok()) << channel.status().message();
    return std::make_unique<FaultyChannel>(std::move(channel).value(), std::move(fault), options_.depth);
  }

  Result<IoReport> Write(RequestFault fault) {
    return MakeImageWriter(Faulty(IoDirection::kWrite, std::move(fault)), options_)
        ->Write(folder_.fd(), "a", image_.bytes());
  }

  // All of the file, in two ranges of which none begins at a page.
  Result<IoReport> Read(RequestFault fault, std::span<std::byte> into) {
    folder_.WriteAll("a", image_.bytes());
    folder_.Drop("a");
    const std::vector<ReadRange> ranges = {{0, 0, into.first(kCut)}, {0, kCut, into.subspan(kCut)}};
    return MakeRangeReader(Faulty(IoDirection::kRead, std::move(fault)), options_)
        ->Read(folder_.fd(), {"a"}, ranges, [this](std::size_t) {
          ++told_;
          return Status::Ok();
        });
  }

  static constexpr std::size_t kCut = 123'457;
  const IoOptions options_ = OptionsFor(GetParam());
  IoFolder folder_;
  Image image_{700'001, 5};
  Image into_{700'001, 6};
  int told_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, Faults, testing::ValuesIn(AllIoCases()),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(Faults, ShortWritesGoOn) {
  const Result<IoReport> report = Write(ShortenSome);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(folder_.ReadAll("a") == image_.ToString());
}

// With O_DIRECT the rest of such a page is written again from its begin.
TEST_P(Faults, WritesThatEndInsideAPageGoOn) {
  const Result<IoReport> report = Write([](std::size_t number, IoRequest& request) -> std::optional<std::int64_t> {
    if (number % 4 != 2 || request.bytes <= 8192) return kHandOn;
    const ssize_t moved = ::pwrite(request.fd, request.memory, 8192, static_cast<off_t>(request.offset));
    EXPECT_EQ(moved, 8192);
    return moved - 1000;
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(folder_.ReadAll("a") == image_.ToString());
}

TEST_P(Faults, InterruptedWritesAreMadeAgain) {
  const Result<IoReport> report = Write([](std::size_t number, IoRequest&) -> std::optional<std::int64_t> {
    if (number % 3 == 0) return -EINTR;
    if (number % 5 == 0) return -EAGAIN;
    return kHandOn;
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(folder_.ReadAll("a") == image_.ToString());
}

TEST_P(Faults, AWriteThatNeverGetsOnFailsAndLeavesNoFile) {
  for (const std::int64_t result : {-EAGAIN, 0}) {
    const Status status = Write([=](std::size_t, IoRequest&) { return std::optional(result); }).status();
    EXPECT_FALSE(status.ok()) << result;
    EXPECT_THAT(folder_.Files(), IsEmpty());
  }
}

TEST_P(Faults, AnyWriteThatFailsFailsTheFileAndLeavesNone) {
  struct Case {
    int error;
    StatusCode code;
    const char* words;
  };
  for (const Case& c : {Case{EIO, StatusCode::kDataLoss, "cannot write a: Input/output error"},
                        Case{ENOSPC, StatusCode::kResourceExhausted, "cannot write a: No space left on device"},
                        Case{EDQUOT, StatusCode::kResourceExhausted, "cannot write a: Disk quota exceeded"},
                        Case{EFBIG, StatusCode::kResourceExhausted, "cannot write a: File too large"},
                        Case{ESTALE, StatusCode::kNotFound, "cannot write a: Stale file handle"}}) {
    for (const std::size_t number : {0, 4, 10}) {
      const Status status = Write(At(number, -c.error)).status();
      EXPECT_EQ(status.code(), c.code) << c.words;
      EXPECT_EQ(status.message(), c.words);
      EXPECT_NE(status.fix(), "");
      EXPECT_THAT(folder_.Files(), IsEmpty());
    }
  }
  EXPECT_TRUE(Write([](std::size_t, IoRequest&) { return kHandOn; }).ok());
}

TEST_P(Faults, WhereDirectWritesAreRefusedThePageCacheHasToDo) {
  const Result<IoReport> report = Write(RefuseDirect);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->direct);
  EXPECT_TRUE(folder_.ReadAll("a") == image_.ToString());
}

TEST_P(Faults, AWriteThatIsRefusedForGoodFails) {
  const Status status = Write([](std::size_t, IoRequest&) { return std::optional<std::int64_t>(-EINVAL); }).status();
  EXPECT_THAT(status.message(), HasSubstr("cannot write a: Invalid argument"));
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_P(Faults, AFileThatIsRemovedWhileItIsWrittenIsNotSaved) {
  const Status status = Write([this](std::size_t number, IoRequest&) {
                          EXPECT_TRUE(number != 5 || ::unlinkat(folder_.fd(), "a", 0) == 0);
                          return kHandOn;
                        }).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("cannot find a where it was written"));
}

TEST_P(Faults, ShortReadsGoOn) {
  const Result<IoReport> report = Read(ShortenSome, into_.bytes());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(into_.ToString() == image_.ToString());
  EXPECT_EQ(told_, 2);
}

TEST_P(Faults, InterruptedReadsAreMadeAgain) {
  const Result<IoReport> report = Read(
      [](std::size_t number, IoRequest&) -> std::optional<std::int64_t> {
        if (number % 3 == 0) return -EINTR;
        if (number % 5 == 0) return -EAGAIN;
        return kHandOn;
      },
      into_.bytes());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(into_.ToString() == image_.ToString());
}

TEST_P(Faults, AReadThatNeverGetsOnFails) {
  EXPECT_EQ(
      Read([](std::size_t, IoRequest&) { return std::optional<std::int64_t>(-EAGAIN); }, into_.bytes()).status().code(),
      StatusCode::kUnavailable);
}

TEST_P(Faults, AReadThatFailsNamesTheFileAndThePlace) {
  for (const std::size_t number : {0, 3, 8}) {
    const Status status = Read(At(number, -EIO), into_.bytes()).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), testing::MatchesRegex("cannot read a at [0-9]+: Input/output error"));
  }
}

TEST_P(Faults, WhereDirectReadsAreRefusedThePageCacheHasToDo) {
  const Result<IoReport> report = Read(RefuseDirect, into_.bytes());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(into_.ToString() == image_.ToString());
}

}  // namespace
}  // namespace glim::checkpoint
