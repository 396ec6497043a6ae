// A report that the scheduler would refuse is shortened; the largest of a task that may be need not be.
#include "nodeagent/sync/message_sizes.h"

#include <gtest/gtest.h>

#include "nodeagent/task/failure_cause.h"
#include "nodeagent/task/task_message.h"

namespace glim::nodeagent {
namespace {

void AddTask(v1::NodeReport* report, int ranks, int saves) {
  v1::ObservedTask& task = *report->add_tasks();
  task.mutable_attempt()->set_job_id(7);
  task.set_message(std::string(4000, 'm'));
  for (int i = 0; i < ranks; ++i) {
    v1::ObservedRank& rank = *task.add_ranks();
    rank.set_rank(static_cast<std::uint32_t>(i));
    rank.set_step(i);
    rank.set_exited(true);
    rank.set_cause(std::string(kCauseBytesMax, 'c'));
    for (int save = 0; save < saves; ++save) {
      v1::Save& proto = *rank.add_saves();
      proto.set_step(save);
      proto.set_path(std::string(kSavePathBytesMax, 'p'));
      proto.set_local(std::string(kSavePathBytesMax, 'l'));
    }
  }
}

TEST(FitReport, TheLargestTaskOfALegalJobFits) {
  v1::NodeReport report;
  AddTask(&report, 64, 4);
  const std::string before = report.SerializeAsString();
  EXPECT_LE(before.size(), kReportMessageBytesMax);
  FitReport(&report);
  EXPECT_EQ(report.SerializeAsString(), before);
}

TEST(FitReport, OfManyTheNewestSavesAreToldAndHowEachEnded) {
  v1::NodeReport report;
  for (int i = 0; i < 4; ++i) AddTask(&report, 64, 4);
  FitReport(&report);
  EXPECT_LE(report.ByteSizeLong(), kReportMessageBytesMax);
  const v1::ObservedRank& rank = report.tasks(3).ranks(63);
  ASSERT_EQ(rank.saves_size(), 1);
  EXPECT_EQ(rank.saves(0).step(), 3);
  EXPECT_EQ(rank.cause().size(), kCauseBytesMax);
}

TEST(FitReport, AtLastTheWordsGoAndTheFactsStay) {
  v1::NodeReport report;
  for (int i = 0; i < 256; ++i) AddTask(&report, 64, 1);
  FitReport(&report);
  EXPECT_LE(report.ByteSizeLong(), kReportMessageBytesMax);
  EXPECT_EQ(report.tasks_size(), 256);
  EXPECT_TRUE(report.tasks(255).ranks(63).exited());
  EXPECT_EQ(report.tasks(255).ranks(63).step(), 63);
}

}  // namespace
}  // namespace glim::nodeagent
