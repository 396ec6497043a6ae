#include "scheduler/server/loop/store_clock.h"

#include <gmock/gmock.h>

#include <memory>

#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/memory/memory_store.h"

namespace glim::server {
namespace {

using testing::HasSubstr;

constexpr TimePoint kThen{1'800'000'000'000};

TEST(StoreClock, AClockThatIsOffByMoreThanADayIsNotBelieved) {
  EXPECT_TRUE(CheckClock(TimePoint{}, kThen).ok()) << "an empty store";
  EXPECT_TRUE(CheckClock(kThen, kThen + Hours(24)).ok());
  EXPECT_TRUE(CheckClock(kThen, kThen - Hours(24)).ok());
  const Status ahead = CheckClock(kThen, kThen + Hours(24) * 400);
  EXPECT_EQ(ahead.reason(), "CLOCK_OFF");
  EXPECT_EQ(ahead.field(), "clock");
  EXPECT_THAT(ahead.message(), HasSubstr("400 days after"));
  EXPECT_THAT(ahead.fix(), HasSubstr("glim-scheduler accept-clock"));
  const Status behind = CheckClock(kThen, kThen - Hours(25));
  EXPECT_THAT(behind.message(), HasSubstr("1 day before"));
  EXPECT_THAT(behind.fix(), HasSubstr("moves the times in the store back"));
}

TEST(StoreClock, TheNewestOfRowsAndMarkCounts) {
  store::MemoryStore store;
  core::ClusterState rows;
  EXPECT_EQ(LastWritten(rows, &store).value(), TimePoint{});
  const std::uint64_t epoch = store.AcquireEpoch(0).value();
  ASSERT_TRUE(store.PutMark(epoch, kClockMark, std::to_string(kThen.ms)).ok());
  EXPECT_EQ(LastWritten(rows, &store).value(), kThen);
  rows.newest = kThen + Hours(1);
  EXPECT_EQ(LastWritten(rows, &store).value(), kThen + Hours(1));
}

constexpr Duration kOff = Hours(24) * 400;

class AcceptClockTest : public ::testing::Test {
 protected:
  // A start at this moment by the host's clock: its status.
  Status Start(TimePoint clock) {
    SchedulerLoop::Options options;
    options.clock = [clock] { return clock; };
    options.epoch_at_least = static_cast<std::uint64_t>(clock.ms / 1'000);
    auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<store::MemoryStore>(data_));
    if (!loop.ok()) return loop.status();
    now_ = (*loop)->Now();
    epoch_ = (*loop)->epoch();
    (*loop)->Start();
    (*loop)->Stop();
    return Status::Ok();
  }
  void Write(TimePoint submitted) {
    store::MemoryStore store(data_);
    core::Job job;
    job.id = core::JobId(1);
    job.spec = std::make_shared<const core::JobSpec>();
    job.state = core::JobState::kCancelled;
    job.submitted_at = job.ended_at = submitted;
    const auto epoch = store.AcquireEpoch();
    ASSERT_TRUE(store.Commit(*epoch, {std::make_shared<const core::Job>(job)}).ok());
  }
  Result<std::string> Accept(TimePoint clock) {
    store::MemoryStore store(data_);
    return AcceptClock(&store, clock);
  }

  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  TimePoint now_;
  std::uint64_t epoch_ = 0;
};

TEST_F(AcceptClockTest, AClockFarAheadStartsNothingAndChangesNothing) {
  ASSERT_TRUE(Start(kThen).ok());
  Write(kThen);
  const std::uint64_t epoch = data_->epoch;
  EXPECT_EQ(Start(kThen + kOff).reason(), "CLOCK_OFF");
  EXPECT_EQ(data_->epoch, epoch) << "agents would follow no lower one";
  EXPECT_TRUE(Start(kThen + Hours(1)).ok());
  EXPECT_EQ(now_, kThen + Hours(1));
}

TEST_F(AcceptClockTest, AClusterThatStoodStillGoesOnOnceThatIsSaid) {
  ASSERT_TRUE(Start(kThen).ok());
  Write(kThen);
  EXPECT_THAT(Accept(kThen + kOff).value(), HasSubstr("accepted"));
  EXPECT_TRUE(Start(kThen + kOff + Minutes(5)).ok());
  EXPECT_EQ(now_, kThen + kOff + Minutes(5));
}

TEST_F(AcceptClockTest, AStoreThatIsAheadIsMovedBackOnceThatIsSaid) {
  ASSERT_TRUE(Start(kThen + kOff).ok());
  Write(kThen + kOff);
  EXPECT_EQ(Start(kThen).reason(), "CLOCK_OFF");
  EXPECT_THAT(Accept(kThen).value(), HasSubstr("Times of 1 rows were moved back"));
  ASSERT_TRUE(Start(kThen + Minutes(5)).ok());
  EXPECT_EQ(now_, kThen + Minutes(5));
  EXPECT_LE(epoch_, static_cast<std::uint64_t>((kThen + Minutes(6)).ms / 1'000)) << "agents with a right clock obey it";
}

// Whatever it had done by then.
TEST_F(AcceptClockTest, ACommandThatWasCutOffIsRepeated) {
  ASSERT_TRUE(Start(kThen + kOff).ok());
  Write(kThen + kOff);
  const std::string ahead = data_->marks.at(kClockMark);
  ASSERT_TRUE(Accept(kThen).ok());
  data_->marks[kClockMark] = ahead;  // all but its last step
  EXPECT_EQ(Start(kThen).reason(), "CLOCK_OFF");
  EXPECT_TRUE(Accept(kThen).ok());
  ASSERT_TRUE(Start(kThen + Minutes(5)).ok());
  EXPECT_LE(epoch_, static_cast<std::uint64_t>((kThen + Minutes(6)).ms / 1'000));
}

TEST_F(AcceptClockTest, AnIdleClusterIsNoneThatStoodStill) {
  ASSERT_TRUE(Start(kThen).ok());
  ASSERT_TRUE(Start(kThen + Hours(20)).ok());
  EXPECT_TRUE(Start(kThen + Hours(40)).ok()) << "each start, and each hour, leaves a mark";
}

TEST_F(AcceptClockTest, NothingIsDoneWhereClockAndStoreAreInStep) {
  ASSERT_TRUE(Start(kThen).ok());
  const std::uint64_t epoch = data_->epoch;
  EXPECT_THAT(Accept(kThen + Hours(1)).value(), HasSubstr("in step"));
  EXPECT_EQ(data_->epoch, epoch);
}

}  // namespace
}  // namespace glim::server
