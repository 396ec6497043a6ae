// What reports, one after the other, come to: starts and releases in seconds, by what the agent saw itself.
#include "nodeagent/metrics/task_figures.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <vector>

#include "nodeagent/metrics/agent_metrics.h"

namespace glim::nodeagent {
namespace {

using v1::ObservedTask;

class TaskFiguresTest : public ::testing::Test {
 protected:
  void Look(const std::vector<ObservedTask::Phase>& phases, std::int64_t at_ms) {
    v1::NodeReport report;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      ObservedTask* const task = report.add_tasks();
      task->mutable_attempt()->set_job_id(i + 1);
      task->mutable_attempt()->set_number(1);
      task->set_phase(phases[i]);
    }
    figures_.Look(report, {at_ms});
  }
  bool Has(const std::string& line) const {
    const std::string text = prometheus::TextSerializer().Serialize(registry_.Collect());
    return text.find(line + "\n") != std::string::npos;
  }

  prometheus::Registry registry_;
  TaskFigures figures_{&registry_};
};

TEST_F(TaskFiguresTest, AStartAndAReleaseAreToldInSeconds) {
  Look({}, 1'000);
  Look({ObservedTask::STARTING}, 2'000);
  EXPECT_TRUE(Has("glim_agent_tasks{phase=\"starting\"} 1"));
  Look({ObservedTask::RUNNING}, 4'000);
  EXPECT_TRUE(Has("glim_agent_task_start_seconds_sum 2"));
  EXPECT_TRUE(Has("glim_agent_tasks{phase=\"starting\"} 0"));
  Look({ObservedTask::EXITED}, 60'000);
  Look({ObservedTask::RELEASED}, 63'000);
  EXPECT_TRUE(Has("glim_agent_task_release_seconds_sum 3"));
  EXPECT_TRUE(Has("glim_agent_task_release_seconds_count 1"));
}

TEST_F(TaskFiguresTest, WhatAnEarlierAgentBeganHasNoDuration) {
  Look({ObservedTask::STARTING}, 1'000);
  Look({ObservedTask::RUNNING}, 9'000);
  EXPECT_TRUE(Has("glim_agent_task_start_seconds_count 0"));
}

TEST_F(TaskFiguresTest, AStartThatFailedIsCountedOnce) {
  Look({}, 1'000);
  v1::NodeReport report;
  report.add_tasks()->set_phase(ObservedTask::RELEASED);
  report.mutable_tasks(0)->set_start_failed(true);
  figures_.Look(report, {2'000});
  figures_.Look(report, {3'000});
  EXPECT_TRUE(Has("glim_agent_task_failures_total{kind=\"start\"} 1"));
  EXPECT_TRUE(Has("glim_agent_task_failures_total{kind=\"lost\"} 0"));
}

TEST(AgentMetricsStart, SaysThatAPortIsTaken) {
  const auto first = AgentMetrics::Start("127.0.0.1:0", "/", "1");
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto second = AgentMetrics::Start("127.0.0.1:" + std::to_string((*first)->port()), "/", "1");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), "BIND_FAILED");
}

}  // namespace
}  // namespace glim::nodeagent
