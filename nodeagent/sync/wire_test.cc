#include "nodeagent/sync/wire.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "nodeagent/sync/reconnect.h"

namespace glim::nodeagent {
namespace {

TEST(Wire, SignalsByNameAndNumber) {
  EXPECT_EQ(SignalNumber("USR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGTERM"), SIGTERM);
  EXPECT_EQ(SignalNumber("2"), SIGINT);
  for (const char* name : {"", "SIG", "usr1", "0", "32", "-9", "KILLER"}) EXPECT_FALSE(SignalNumber(name)) << name;
}

TEST(Wire, ADesiredStateIsReadWithItsDeadlinesOnOurClock) {
  v1::DesiredState set;
  set.set_epoch(3);
  set.set_revision(9);
  v1::DesiredTask& task = *set.add_tasks();
  task.mutable_attempt()->set_job_id(7);
  task.mutable_attempt()->set_number(2);
  task.set_index(1);
  task.mutable_interrupt()->set_agreement(4);
  task.mutable_interrupt()->set_grace_left_ms(5000);
  task.mutable_interrupt()->set_stop_step(-1);
  task.mutable_stop()->set_term_ms(30'000);
  const Desired desired = FromProto(set, TimePoint{1000}, true);
  EXPECT_EQ(desired.revision, (Revision{3, 9}));
  ASSERT_EQ(desired.tasks.size(), 1u);
  EXPECT_EQ(desired.tasks[0].key, (TaskKey{7, 2, 1}));
  EXPECT_FALSE(desired.tasks[0].launch);
  EXPECT_EQ(desired.tasks[0].interrupt->deadline.ms, 6000);
  EXPECT_EQ(desired.tasks[0].stop->term_ms, 30'000);
  task.mutable_interrupt()->set_grace_left_ms(std::numeric_limits<std::int64_t>::max());
  task.mutable_stop()->set_term_ms(std::numeric_limits<std::int64_t>::max());
  const Desired far = FromProto(set, TimePoint{1000}, true);
  EXPECT_GT(far.tasks[0].interrupt->deadline.ms, 0) << "no overflow";
  EXPECT_GT((TimePoint{1000} + Milliseconds(far.tasks[0].stop->term_ms)).ms, 0);
}

TEST(Wire, AMessageIsCutAtACharacter) {
  Inspection inspection;
  for (int i = 0; i < 4000; ++i) inspection.message += "\xc3\xa4";
  v1::ObservedTask task;
  ToProto({7, 1, 0}, inspection, nullptr, {}, &task);
  EXPECT_LE(task.message().size(), 4000u);
  EXPECT_EQ(task.message().size() % 2, 0u);
  std::string bytes;
  EXPECT_TRUE(task.SerializeToString(&bytes));
}

TEST(Wire, WhoUsedUpItsMemoryIsTold) {
  Inspection inspection;
  inspection.out_of_memory = true;
  v1::ObservedTask task;
  ToProto({7, 1, 0}, inspection, nullptr, {}, &task);
  EXPECT_TRUE(task.out_of_memory());
  task.Clear();
  ToProto({7, 1, 0}, {}, nullptr, {}, &task);
  EXPECT_FALSE(task.out_of_memory());
}

TEST(Wire, GraceIsToldForTheAgreementThatWasAcknowledged) {
  std::vector<RankState> ranks(1);
  ranks[0].acked_agreement = 2;
  ranks[0].extend_agreement = 1;
  ranks[0].extend_ms = 9000;
  v1::ObservedTask task;
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_EQ(task.ranks(0).extend_ms(), 0);
  ranks[0].extend_agreement = 2;
  task.Clear();
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return true; }, &task);
  EXPECT_EQ(task.ranks(0).extend_ms(), 9000);
  EXPECT_TRUE(task.ranks(0).connected());
}

TEST(Wire, AFailedRestoreIsTold) {
  std::vector<RankState> ranks(1);
  ranks[0].restore_failed = "/ckpt/step-5: bad checksum";
  v1::ObservedTask task;
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_EQ(task.ranks(0).restore_failed(), "/ckpt/step-5: bad checksum");
}

TEST(Wire, AFailedSaveIsToldUntilOneIsMade) {
  std::vector<RankState> ranks(1);
  ranks[0].save_failure = {.step = 39, .why = "no space left", .count = 3};
  v1::ObservedTask task;
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_EQ(task.ranks(0).save_failure().step(), 39);
  EXPECT_EQ(task.ranks(0).save_failure().why(), "no space left");
  EXPECT_EQ(task.ranks(0).save_failure().count(), 3u);
  ranks[0].save_failure = {};
  task.Clear();
  ToProto(
      {7, 1, 0}, {}, &ranks, [](std::uint32_t) { return false; }, &task);
  EXPECT_FALSE(task.ranks(0).has_save_failure());
}

TEST(Reconnect, GrowsToFiveSecondsWithJitter) {
  Reconnect reconnect(1);
  for (const std::int64_t longest : {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
    const auto pause = reconnect.Next(false).count();
    EXPECT_LE(pause, longest);
    EXPECT_GE(pause, longest / 2);
  }
  reconnect.Succeeded();
  EXPECT_LE(reconnect.Next(false).count(), 100);
  EXPECT_GE(reconnect.Next(true).count(), 2500);
}

}  // namespace
}  // namespace glim::nodeagent
