// Agents ask what may go of the saves that they hold, and are told by the policy in force.
#include <gmock/gmock.h>

#include "scheduler/server/testing/event_reader.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::ObservedTask;

class SavesReviewTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    config_.policy.checkpoint_retention.succeeded = Milliseconds(1);
    RestartServer();
    hello_ = MakeHello(server_->cluster_id(), "node-1");
    agent_ = std::make_unique<FakeAgent>(channel_, hello_);
    ASSERT_TRUE(agent_->WaitWelcome());
    stub_ = v1::AgentApi::NewStub(channel_);
  }
  v1::SavesHeld Question(std::vector<std::uint64_t> jobs) const {
    v1::SavesHeld question;
    question.set_cluster_id(hello_.cluster_id());
    question.set_node_name(hello_.node_name());
    question.set_machine_id(hello_.machine_id());
    for (const std::uint64_t job : jobs) {
      question.add_held()->set_job_id(job);
      question.mutable_held()->rbegin()->set_changed_at_ms(1);
    }
    return question;
  }
  grpc::Status Ask(const v1::SavesHeld& question, v1::SavesVerdict* verdict) {
    grpc::ClientContext context;
    return stub_->ReviewSaves(&context, question, verdict);
  }
  v1::SavesVerdict MustAsk(const v1::SavesHeld& question) {
    v1::SavesVerdict verdict;
    const grpc::Status status = Ask(question, &verdict);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return verdict;
  }
  std::uint64_t Running() {
    const std::uint64_t job = MustSubmit(Spec("saves"));
    EXPECT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, 1, 0, ObservedTask::RUNNING, 5)});
    WaitState(job, "running");
    return job;
  }
  void Finish(std::uint64_t job) {
    agent_->Report({Observed(job, 1, 0, ObservedTask::RELEASED, 5)});
    WaitState(job, "succeeded");
  }

  v1::Hello hello_;
  std::unique_ptr<FakeAgent> agent_;
  std::unique_ptr<v1::AgentApi::Stub> stub_;
};

TEST_F(SavesReviewTest, WhatAnEndedJobSavedGoesAndWhatARunningOneSavedStays) {
  const std::uint64_t job = Running();
  EXPECT_THAT(MustAsk(Question({job})).remove(), IsEmpty());
  EXPECT_EQ(GetJob(job).saves_kept_until_ms(), 0);
  Finish(job);
  EXPECT_EQ(GetJob(job).saves_kept_until_ms(), GetJob(job).ended_at_ms() + 1);
  EXPECT_TRUE(Eventually([&] { return MustAsk(Question({job})).remove_size() == 1; }));
  const v1::SavesVerdict verdict = MustAsk(Question({job}));
  EXPECT_THAT(verdict.remove(), ElementsAre(job));
  EXPECT_EQ(verdict.again_ms(), Hours(1).ms);
  EXPECT_EQ(verdict.collect_root(), "") << "there is none";
  EXPECT_GT(verdict.epoch(), 0u);
}

TEST_F(SavesReviewTest, ARemovalIsToldToTheHistory) {
  const std::uint64_t job = Running();
  Finish(job);
  v1::SavesHeld question = Question({});
  question.add_removed()->set_job_id(job);
  question.mutable_removed(0)->set_bytes(3 << 20);
  MustAsk(question);
  v1::StreamEventsRequest events;
  events.set_job_id(job);
  events.set_follow(true);
  EventReader reader(client_.get(), events);
  v1::Event event;
  while (event.kind() != "saves_removed") ASSERT_TRUE(reader.Next(&event));
  EXPECT_THAT(event.message(), HasSubstr("3.0 MiB on node-1"));
  EXPECT_EQ(event.node(), "node-1");
}

TEST_F(SavesReviewTest, OnlyTheNodeItselfIsAnswered) {
  v1::SavesVerdict verdict;
  v1::SavesHeld question = Question({1});
  question.set_cluster_id("another");
  EXPECT_EQ(DetailOf(Ask(question, &verdict)).field(), "cluster_id");
  question = Question({1});
  question.set_machine_id("another");
  EXPECT_EQ(DetailOf(Ask(question, &verdict)).field(), "machine_id");
  question = Question({1});
  question.set_node_name("nobody");
  EXPECT_EQ(DetailOf(Ask(question, &verdict)).field(), "node_name");
  question = Question({});
  for (int i = 0; i < 50'001; ++i) question.add_held();
  EXPECT_EQ(DetailOf(Ask(question, &verdict)).field(), "held");
}

}  // namespace
}  // namespace glim::server
