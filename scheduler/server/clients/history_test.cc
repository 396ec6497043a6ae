// What is told of the past, through real gRPC, the real core and SQLite: events as they happen and later, ended jobs.
#include <gmock/gmock.h>

#include <map>

#include "scheduler/server/testing/event_reader.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HistoryTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    Connect();
  }
  void TearDown() override {
    agent_.reset();
    ServerTest::TearDown();
  }
  void Connect() {
    agent_ = std::make_unique<FakeAgent>(channel_, MakeHello(server_->cluster_id(), "node-1"));
    ASSERT_TRUE(agent_->WaitWelcome());
  }
  std::vector<v1::Event> Events(const v1::StreamEventsRequest& request, grpc::Status* status = nullptr) {
    EventReader reader(client_.get(), request);
    std::vector<v1::Event> events;
    for (v1::Event event; reader.Next(&event);) events.push_back(event);
    const grpc::Status end = reader.Finish();
    EXPECT_TRUE(status || end.ok()) << end.error_message();
    if (status) *status = end;
    return events;
  }
  std::vector<v1::Event> EventsOf(std::uint64_t job) {
    v1::StreamEventsRequest request;
    request.set_job_id(job);
    return Events(request);
  }
  grpc::Status Refused(const v1::StreamEventsRequest& request) {
    grpc::Status status;
    EXPECT_TRUE(Events(request, &status).empty());
    return status;
  }
  grpc::Status History(const v1::ListHistoryRequest& request, v1::ListHistoryResponse* response) {
    grpc::ClientContext context;
    SetUser(&context);
    return client_->ListHistory(&context, request, response);
  }
  std::vector<std::uint64_t> Ended(const v1::ListHistoryRequest& request) {
    v1::ListHistoryResponse response;
    const grpc::Status status = History(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::uint64_t> ids;
    for (const auto& job : response.jobs()) ids.push_back(job.id());
    return ids;
  }
  template <typename Request, typename Response>
  void Change(grpc::Status (v1::ClientApi::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              std::uint64_t job, const std::string& user = "kim") {
    grpc::ClientContext context;
    SetUser(&context, user);
    Request request;
    request.set_job_id(job);
    Response response;
    const grpc::Status status = (client_.get()->*method)(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void Cancel(std::uint64_t job, const std::string& user = "kim") { Change(&v1::ClientApi::Stub::Cancel, job, user); }
  void Run(std::uint64_t job, std::uint32_t attempt = 1) {
    ASSERT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, attempt, 0, v1::ObservedTask::RUNNING, 1)});
    WaitState(job, "running");
  }
  // The job's one rank answers its interrupt, saves step 7 and is gone.
  void Leave(std::uint64_t job) {
    const auto order = agent_->WaitInterrupt(job, [](const v1::InterruptOrder&) { return true; });
    ASSERT_TRUE(order);
    auto task = Observed(job, 1, 0, v1::ObservedTask::RUNNING, 7);
    task.mutable_ranks(0)->set_acked_agreement(order->interrupt().agreement());
    task.mutable_ranks(0)->set_hold(7);
    agent_->Report({task});
    ASSERT_TRUE(agent_->WaitInterrupt(job, [](const v1::InterruptOrder& o) { return o.stop_step() >= 0; }));
    auto* save = task.mutable_ranks(0)->add_saves();
    save->set_step(7);
    save->set_path("/ckpt/step-7");
    save->set_shards(1);
    task.mutable_ranks(0)->set_leaving(true);
    agent_->Report({task});
    task.set_phase(v1::ObservedTask::RELEASED);
    agent_->Report({task});
  }

  std::unique_ptr<FakeAgent> agent_;
};

std::vector<std::string> Kinds(const std::vector<v1::Event>& events) {
  std::vector<std::string> kinds;
  for (const auto& event : events) kinds.push_back(event.kind());
  return kinds;
}

std::string MessageOf(const std::vector<v1::Event>& events, const std::string& kind) {
  for (const auto& event : events) {
    if (event.kind() == kind) return event.message();
  }
  return "no " + kind;
}

TEST_F(HistoryTest, AnInterruptedJobsEventsTellItsLifeInWords) {
  const std::uint64_t low = MustSubmit(Spec("low", 1, "low"));
  Run(low);
  const std::uint64_t high = MustSubmit(Spec("high", 1, "high"), "lee");
  Leave(low);
  WaitState(low, "queued");
  const auto events = EventsOf(low);
  EXPECT_THAT(Kinds(events), ElementsAre("job_submitted", "attempt_claimed", "attempt_starting", "attempt_running",
                                         "interrupt_requested", "step_agreed", "interrupt_saved", "interrupt_left",
                                         "attempt_ended", "job_queued"));
  EXPECT_EQ(MessageOf(events, "job_submitted"), "low by kim: 1 node x 8 GPUs, low");
  EXPECT_EQ(MessageOf(events, "attempt_claimed"), "node-1: 1 of 1 nodes free");
  EXPECT_EQ(MessageOf(events, "attempt_starting"), "on node-1, from the beginning");
  EXPECT_THAT(MessageOf(events, "interrupt_requested"), HasSubstr("high (high, user lee) needs 1 node"));
  EXPECT_THAT(MessageOf(events, "interrupt_requested"), HasSubstr("of grace"));
  EXPECT_EQ(MessageOf(events, "step_agreed"), "stop after step 7");
  EXPECT_THAT(MessageOf(events, "interrupt_saved"), HasSubstr("through step 7"));
  EXPECT_THAT(MessageOf(events, "interrupt_left"), HasSubstr("grace used"));
  EXPECT_EQ(MessageOf(events, "attempt_ended"), "interrupted: saved and left, 0 steps lost");
  EXPECT_EQ(events[1].attempt(), 1u);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].job_id(), low);
    EXPECT_GT(events[i].happened_at_ms(), 0);
    if (i > 0) {
      EXPECT_GT(events[i].seq(), events[i - 1].seq());
    }
  }
  EXPECT_EQ(MessageOf(EventsOf(high), "attempt_claimed"),
            "node-1: 0 of 1 nodes free; waits for job " + std::to_string(low));

  Run(high);
  agent_->Report({Observed(high, 1, 0, v1::ObservedTask::RELEASED, 9)});
  WaitState(high, "succeeded");
  WaitState(low, "starting");
  EXPECT_EQ(EventsOf(low).back().message(), "on node-1, from step 8");
  EXPECT_EQ(EventsOf(high).back().kind(), "job_succeeded");
}

TEST_F(HistoryTest, WhatUsersAndNodesDoIsTold) {
  MustSubmit(Spec("holds-the-node"));
  const std::uint64_t job = MustSubmit(Spec("waits"));
  Change(&v1::ClientApi::Stub::Suspend, job);
  Change(&v1::ClientApi::Stub::Resume, job);
  Cancel(job);
  const auto events = EventsOf(job);
  EXPECT_THAT(Kinds(events), ElementsAre("job_submitted", "job_held", "job_resumed", "job_cancelled"));
  EXPECT_EQ(MessageOf(events, "job_resumed"), "by kim");
  EXPECT_EQ(MessageOf(events, "job_cancelled"), "cancelled by kim");
  agent_->Close();
  v1::StreamEventsRequest of_node;
  of_node.set_node("node-1");
  EXPECT_TRUE(Eventually([&] { return Events(of_node).size() == 2; }));
  const auto of = Events(of_node);
  EXPECT_THAT(Kinds(of), ElementsAre("node_registered", "node_silent"));
  EXPECT_EQ(of[0].node(), "node-1");
  EXPECT_THAT(of[0].message(), HasSubstr("zone A, 8 GPUs"));
  RestartServer();
  Connect();
  const auto all = Events({});
  EXPECT_THAT(all.front().message(), HasSubstr("epoch 1"));
  std::map<std::string, int> count;
  for (const auto& event : all) ++count[event.kind()];
  EXPECT_EQ(count["scheduler_started"], 2);
  EXPECT_EQ(count["job_cancelled"], 1);
}

TEST_F(HistoryTest, PagesGoOnWhereTheyStoppedAndTheFilterHolds) {
  v1::SubmitRequest request;
  for (int i = 0; i < 1300; ++i) *request.add_specs() = Spec("many");
  v1::SubmitResponse response;
  ASSERT_TRUE(Submit(request, &response).ok());
  const auto all = Events({});
  std::size_t submitted = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) {
      ASSERT_GT(all[i].seq(), all[i - 1].seq());
    }
    submitted += all[i].kind() == "job_submitted" ? 1 : 0;
  }
  EXPECT_EQ(submitted, 1300u);
  v1::StreamEventsRequest rest;
  rest.set_after(all[700].seq());
  EXPECT_EQ(Events(rest).size(), all.size() - 701);
  rest.set_max_age_ms(3'600'000);
  EXPECT_EQ(Events(rest).size(), all.size() - 701);
}

TEST_F(HistoryTest, FollowingBringsWhatHappensNextOnce) {
  const std::uint64_t first = MustSubmit(Spec("first"));
  v1::StreamEventsRequest of_all;
  of_all.set_follow(true);
  EventReader everything(client_.get(), of_all);
  v1::StreamEventsRequest of_second = of_all;
  of_second.set_after(1);
  of_second.set_node("node-1");
  EventReader of_node(client_.get(), of_second);
  v1::Event event;
  while (everything.Next(&event) && event.kind() != "attempt_starting") {
  }
  EXPECT_EQ(event.job_id(), first);
  ASSERT_TRUE(of_node.Next(&event));
  EXPECT_EQ(event.kind(), "node_registered");

  std::uint64_t last_seq = event.seq();
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t job = MustSubmit(Spec("next"));
    ASSERT_TRUE(everything.Next(&event));
    EXPECT_EQ(event.kind(), "job_submitted");
    EXPECT_EQ(event.job_id(), job);
    EXPECT_GT(event.seq(), last_seq);
    last_seq = event.seq();
  }
  EXPECT_GE(everything.next_after(), last_seq);
  agent_->Close();
  ASSERT_TRUE(of_node.Next(&event));
  EXPECT_EQ(event.kind(), "node_silent") << "none of the jobs' events came in between";
  everything.Cancel();
  while (everything.Next(&event)) {
  }
  EXPECT_EQ(everything.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // A stream that goes is not missed by the other.
  Connect();
  ASSERT_TRUE(of_node.Next(&event));
  EXPECT_EQ(event.kind(), "node_ready");
  server_->Stop();
  EXPECT_FALSE(of_node.Next(&event));
  EXPECT_EQ(of_node.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HistoryTest, AFollowerIsToldWhereItStandsThoughNothingHappens) {
  v1::StreamEventsRequest request;
  request.set_follow(true);
  request.set_max_age_ms(1);
  request.set_job_id(MustSubmit(Spec("quiet")));
  grpc::ClientContext context;
  SetUser(&context);
  const auto stream = client_->StreamEvents(&context, request);
  v1::StreamEventsResponse page;
  while (page.next_after() < Events({}).back().seq()) ASSERT_TRUE(stream->Read(&page));
  context.TryCancel();
}

TEST_F(HistoryTest, AFollowerThatFallsFarBehindMissesNothing) {
  v1::StreamEventsRequest follow;
  follow.set_follow(true);
  EventReader reader(client_.get(), follow);
  v1::Event event;
  while (reader.Next(&event) && event.kind() != "node_registered") {
  }
  constexpr int kBatches = 4;
  constexpr int kJobs = 2000;
  for (int i = 0; i < kBatches; ++i) {
    v1::SubmitRequest request;
    for (int k = 0; k < kJobs; ++k) *request.add_specs() = Spec("many");
    v1::SubmitResponse response;
    ASSERT_TRUE(Submit(request, &response).ok());
  }
  std::uint64_t last_seq = event.seq();
  for (int submitted = 0; submitted < kBatches * kJobs;) {
    ASSERT_TRUE(reader.Next(&event)) << "after " << submitted;
    ASSERT_GT(event.seq(), last_seq);
    last_seq = event.seq();
    submitted += event.kind() == "job_submitted" ? 1 : 0;
  }
  reader.Cancel();
  while (reader.Next(&event)) {
  }
  EXPECT_EQ(reader.Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HistoryTest, RefusalsNameTheField) {
  v1::StreamEventsRequest request;
  request.set_job_id(4711);
  grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(status).field(), "job_id");
  request = {};
  request.set_node("nowhere");
  status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(status).field(), "node");
  request = {};
  request.set_max_age_ms(-1);
  status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).field(), "max_age_ms");

  const std::pair<const char*, std::function<void(v1::ListHistoryRequest*)>> cases[] = {
      {"state", [](v1::ListHistoryRequest* r) { r->set_state("running"); }},
      {"page_size", [](v1::ListHistoryRequest* r) { r->set_page_size(1001); }},
      {"max_age_ms", [](v1::ListHistoryRequest* r) { r->set_max_age_ms(-1); }},
      {"page_token", [](v1::ListHistoryRequest* r) { r->set_page_token("nonsense"); }},
      {"page_token", [](v1::ListHistoryRequest* r) { r->set_page_token("1.12"); }},
      {"page_token", [](v1::ListHistoryRequest* r) { r->set_page_token("1.12.13x"); }},
  };
  for (const auto& [field, spoil] : cases) {
    v1::ListHistoryRequest bad;
    spoil(&bad);
    v1::ListHistoryResponse response;
    status = History(bad, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << field;
    EXPECT_EQ(DetailOf(status).field(), field);
    EXPECT_FALSE(DetailOf(status).fix().empty());
  }
}

TEST_F(HistoryTest, EndedJobsAreListedWithWhatTheyCostAlsoWhenForgotten) {
  config_.policy.finished_jobs_kept = 1;
  RestartServer();
  Connect();
  const std::uint64_t low = MustSubmit(Spec("low", 1, "low"));
  Run(low);
  const std::uint64_t high = MustSubmit(Spec("high", 1, "high"), "lee");
  Leave(low);
  Run(high);
  agent_->Report({Observed(high, 1, 0, v1::ObservedTask::RELEASED, 9)});
  WaitState(high, "succeeded");
  Run(low, 2);
  agent_->Report({Observed(low, 2, 0, v1::ObservedTask::RELEASED, 20)});
  WaitState(low, "succeeded");
  std::vector<std::uint64_t> cancelled;
  const std::uint64_t holder = MustSubmit(Spec("holder"));
  for (int i = 0; i < 5; ++i) {
    cancelled.push_back(MustSubmit(Spec("c" + std::to_string(i)), i % 2 ? "lee" : "kim"));
    Cancel(cancelled.back(), i % 2 ? "lee" : "kim");
  }
  grpc::ClientContext context;
  SetUser(&context);
  v1::GetJobRequest forgotten;
  forgotten.set_job_id(low);
  v1::GetJobResponse gone;
  EXPECT_EQ(client_->GetJob(&context, forgotten, &gone).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Kinds(EventsOf(low)).back(), "job_succeeded") << "events outlive the job, too";

  RestartServer();
  EXPECT_EQ(Ended({}), (std::vector<std::uint64_t>{cancelled[4], cancelled[3], cancelled[2], cancelled[1], cancelled[0],
                                                   low, high}));
  EXPECT_EQ(GetJob(holder).state(), "starting") << "not ended, not listed";
  v1::ListHistoryRequest request;
  request.set_state("succeeded");
  v1::ListHistoryResponse response;
  ASSERT_TRUE(History(request, &response).ok());
  ASSERT_EQ(response.jobs_size(), 2);
  const v1::EndedJob& job = response.jobs(0);
  EXPECT_EQ(job.name(), "low");
  EXPECT_EQ(job.user(), "kim");
  EXPECT_EQ(job.priority(), "low");
  EXPECT_EQ(job.state(), "succeeded");
  EXPECT_EQ(job.nodes(), 1u);
  EXPECT_EQ(job.attempts(), 2u);
  EXPECT_EQ(job.interrupts(), 1u);
  EXPECT_EQ(job.steps_lost(), 0);
  EXPECT_EQ(job.durable_step(), 7);
  EXPECT_GE(job.started_at_ms(), job.submitted_at_ms());
  EXPECT_GE(job.ended_at_ms(), job.started_at_ms());
  EXPECT_GT(job.gpu_ms(), 0);
  EXPECT_EQ(job.gpu_ms() % 8, 0) << "it had all eight GPUs of its node";
  EXPECT_LE(job.gpu_ms() / 8 + job.waited_ms(), job.ended_at_ms() - job.submitted_at_ms());
  EXPECT_LE(job.productive_gpu_ms() + job.lost_gpu_ms(), job.gpu_ms());

  request = {};
  request.set_user("lee");
  EXPECT_EQ(Ended(request), (std::vector<std::uint64_t>{cancelled[3], cancelled[1], high}));
  request = {};
  request.set_page_size(3);
  std::vector<std::uint64_t> paged;
  do {
    v1::ListHistoryResponse page;
    ASSERT_TRUE(History(request, &page).ok());
    EXPECT_LE(page.jobs_size(), 3);
    for (const auto& one : page.jobs()) paged.push_back(one.id());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(paged, Ended({}));
}

}  // namespace
}  // namespace glim::server
