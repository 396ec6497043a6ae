// Reports and the cluster as it was, from a real server: what its history tells, also after a restart.
#include "scheduler/server/clients/report_service.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/server/convert/hardware_report.h"
#include "scheduler/server/testing/client_fixture.h"
#include "scheduler/store/memory/memory_store.h"

namespace glim::server {
namespace {

class ReportServiceTest : public ClientApiTest {
 protected:
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (v1::ReportApi::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response) {
    const auto stub = v1::ReportApi::NewStub(channel_);
    grpc::ClientContext context;
    SetUser(&context);
    return (stub.get()->*method)(&context, request, response);
  }
  v1::GetHistoryReportResponse Report(const v1::GetHistoryReportRequest& request) {
    v1::GetHistoryReportResponse response;
    const grpc::Status status = Ask(&v1::ReportApi::Stub::GetHistoryReport, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::GetClusterAtResponse At(std::int64_t ms) {
    v1::GetClusterAtRequest request;
    request.set_at_ms(ms);
    v1::GetClusterAtResponse response;
    const grpc::Status status = Ask(&v1::ReportApi::Stub::GetClusterAt, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // When something of this kind happened to the job.
  std::int64_t WhenOf(std::uint64_t job, const std::string& kind) {
    v1::StreamEventsRequest request;
    request.set_job_id(job);
    grpc::ClientContext context;
    SetUser(&context);
    const auto stream = client_->StreamEvents(&context, request);
    std::int64_t at = 0;
    for (v1::StreamEventsResponse page; stream->Read(&page);) {
      for (const v1::Event& event : page.events()) {
        if (event.kind() == kind) at = event.happened_at_ms();
      }
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_GT(at, 0) << kind;
    return at;
  }
  void Finish(std::uint64_t job, v1::ObservedTask observed, const std::string& state) {
    agent_->Report({std::move(observed)});
    WaitState(job, state);
  }
};

TEST_F(ReportServiceTest, EndedJobsAreSummedAndTheClusterIsShownAsItWas) {
  const std::uint64_t first = MustSubmit(Spec("first"));
  ASSERT_TRUE(agent_->WaitLaunch(first));
  agent_->Report({Observed(first, 1, 0, v1::ObservedTask::RUNNING, 1)});
  WaitState(first, "running");
  const std::uint64_t waiting = MustSubmit(Spec("waiting"), "lee");
  const std::int64_t submitted = WhenOf(waiting, "job_submitted");
  const std::chrono::system_clock::time_point with_both{std::chrono::milliseconds(submitted + 1)};
  ASSERT_TRUE(Eventually([&] { return std::chrono::system_clock::now() >= with_both; }))
      << "there is a moment with both";
  Finish(first, Observed(first, 1, 0, v1::ObservedTask::RELEASED, 2), "succeeded");
  ASSERT_TRUE(agent_->WaitLaunch(waiting));
  v1::ObservedTask failed = Observed(waiting, 1, 0, v1::ObservedTask::RELEASED, 3);
  failed.set_exit_code(7);
  v1::ObservedRank* const rank = failed.mutable_ranks(0);
  rank->set_exited(true);
  rank->set_exit_code(7);
  const std::int64_t running = WhenOf(first, "attempt_running");
  Finish(waiting, failed, "failed");
  agent_.reset();
  RestartServer();

  const auto by_pool = Report({});
  ASSERT_EQ(by_pool.rows_size(), 1);
  EXPECT_EQ(by_pool.total().jobs(), 2u);
  EXPECT_EQ(by_pool.total().failures().at("exit 7"), 1u);
  EXPECT_GT(by_pool.total().gpu_ms(), 0);
  EXPECT_GE(by_pool.total().wait().max_ms(), by_pool.total().wait().p50_ms());
  v1::GetHistoryReportRequest request;
  request.set_by("user");
  request.set_user("lee");
  EXPECT_EQ(Report(request).rows(0).name(), "lee");
  request.set_until_ms(submitted);
  EXPECT_EQ(Report(request).total().jobs(), 0u) << "nothing had ended";

  const auto then = At(running);
  EXPECT_TRUE(then.complete());
  ASSERT_EQ(then.nodes_size(), 1);
  EXPECT_EQ(then.nodes(0).name(), "node-1");
  EXPECT_EQ(then.nodes(0).state(), "ready");
  EXPECT_EQ(then.nodes(0).holder().job_id(), first);
  ASSERT_GE(then.jobs_size(), 1);
  EXPECT_EQ(then.jobs(0).id(), first);
  EXPECT_EQ(then.jobs(0).state(), "running");
  EXPECT_EQ(then.jobs(0).attempt(), 1u);
  EXPECT_EQ(then.jobs(0).nodes(0), "node-1");
  const auto both = At(submitted);
  ASSERT_EQ(both.jobs_size(), 2);
  EXPECT_EQ(both.jobs(1).state(), "queued");
  EXPECT_EQ(both.jobs(1).nodes_size(), 0);
  const auto before = At(1);
  EXPECT_FALSE(before.complete()) << "before the first event";
  EXPECT_EQ(before.nodes_size() + before.jobs_size(), 0);
}

TEST_F(ReportServiceTest, HardwareIsReportedFromTheHistoryAlsoAfterARestart) {
  const auto ask = [this] {
    v1::GetHardwareReportResponse response;
    const grpc::Status status = Ask(&v1::ReportApi::Stub::GetHardwareReport, v1::GetHardwareReportRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  };
  const auto before = ask();
  EXPECT_GT(before.since_ms(), 0);
  EXPECT_GE(before.until_ms(), before.since_ms());
  EXPECT_EQ(before.mtbf().failures(), 0u);
  ASSERT_EQ(before.ends_size(), 5);
  EXPECT_EQ(before.ends(0).outcome(), "node_failure");
  agent_.reset();
  RestartServer();
  const auto after = ask();
  EXPECT_EQ(after.since_ms(), before.since_ms());
  EXPECT_GT(after.mtbf().node_ms(), 0) << "the node was there all the time";
}

// What a store has of a fault, read as the service reads it.
TEST(ReadHardware, AFaultsTimesAreFoundInItsJobsEntries) {
  store::MemoryStore memory;
  store::Store& store = memory;
  const std::uint64_t epoch = store.AcquireEpoch().value();
  std::vector<core::Mutation> entries;
  const auto add = [&entries](core::HistoryKind kind, std::int64_t at, std::uint32_t attempt,
                              core::HistoryFacts facts) {
    core::HistoryEntry entry;
    entry.at = TimePoint{at};
    entry.kind = kind;
    entry.job = core::JobId(7);
    entry.attempt = attempt;
    if (kind == core::HistoryKind::kHealthEvent) entry.node = core::NodeId(3);
    entry.facts = std::move(facts);
    entries.emplace_back(std::move(entry));
  };
  add(core::HistoryKind::kAttemptRunning, 1'000, 1, {});
  add(core::HistoryKind::kHealthEvent, 5'000, 1,
      {.took = Milliseconds(250),
       .check = "xid",
       .device = "0000:3b:00.0",
       .code = 79,
       .verdict = core::HealthVerdict::kOut});
  add(core::HistoryKind::kAttemptStopping, 5'100, 1, {.stop = core::StopCause::kGpuFailure});
  add(core::HistoryKind::kAttemptEnded, 6'000, 1, {.outcome = core::Outcome::kGpuFailure, .code = 4, .value = 900});
  for (int i = 0; i < 1'000; ++i) add(core::HistoryKind::kStepAgreed, 6'001, 1, {});  // more than a page
  add(core::HistoryKind::kAttemptRunning, 9'000, 2, {});
  ASSERT_TRUE(store.Commit(epoch, entries).ok());
  auto report = HardwareReport::For({}, TimePoint{10'000});
  ASSERT_TRUE(report.ok());
  v1::GetHardwareReportResponse response;
  ASSERT_TRUE(ReadHardware(store, core::ClusterState().tables(), &*report, &response).ok());
  EXPECT_EQ(response.since_ms(), 1'000) << "where the history begins";
  ASSERT_EQ(response.xids_size(), 1);
  EXPECT_EQ(response.nodes(0).name(), "node 3");
  EXPECT_EQ(response.nodes(0).state(), "removed");
  const v1::HardwareEnd& end = response.ends(1);
  EXPECT_EQ(end.outcome(), "gpu_failure");
  EXPECT_EQ(end.lost_gpu_ms(), 900);
  EXPECT_EQ(end.steps_lost(), 4);
  EXPECT_EQ(end.detect().p50_ms(), 350);
  EXPECT_EQ(end.recover().p50_ms(), 3'000);
}

TEST_F(ReportServiceTest, EventsOfStatesAreShownToNobody) {
  MustSubmit(Spec("one"));
  grpc::ClientContext context;
  SetUser(&context);
  const auto stream = client_->StreamEvents(&context, {});
  int events = 0;
  for (v1::StreamEventsResponse page; stream->Read(&page);) {
    for (const v1::Event& event : page.events()) {
      EXPECT_NE(event.kind(), "states_changed");
      ++events;
    }
  }
  EXPECT_GT(events, 1);
}

TEST_F(ReportServiceTest, AListOfEndedJobsIsFiltered) {
  for (const char* name : {"train-7b", "eval"}) {
    const std::uint64_t job = MustSubmit(Spec(name, 1, std::string(name) == "eval" ? "high" : "low"));
    ASSERT_TRUE(agent_->WaitLaunch(job));
    v1::CancelRequest cancel;
    cancel.set_job_id(job);
    v1::CancelResponse cancelled;
    grpc::ClientContext context;
    SetUser(&context);
    ASSERT_TRUE(client_->Cancel(&context, cancel, &cancelled).ok());
    agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RELEASED, 1)});
    WaitState(job, "cancelled");
  }
  const auto names = [&](const v1::ListHistoryRequest& request, grpc::Status* status = nullptr) {
    v1::ListHistoryResponse response;
    grpc::ClientContext context;
    SetUser(&context);
    const grpc::Status answered = client_->ListHistory(&context, request, &response);
    if (status) *status = answered;
    std::string all;
    for (const v1::EndedJob& job : response.jobs()) all += job.name() + " ";
    return all;
  };
  v1::ListHistoryRequest request;
  request.set_name("7b");
  EXPECT_EQ(names(request), "train-7b ");
  request = {};
  request.set_priority("high");
  EXPECT_EQ(names(request), "eval ");
  request.set_pool("default");
  EXPECT_EQ(names(request), "eval ");
  request.set_pool("elsewhere");
  EXPECT_EQ(names(request), "");
  grpc::Status refused;
  request.set_priority("hgh");
  names(request, &refused);
  EXPECT_EQ(DetailOf(refused).field(), "priority");
  EXPECT_NE(DetailOf(refused).fix().find("did you mean 'high'?"), std::string::npos) << DetailOf(refused).fix();
  // A page's token goes on with the same filters alone.
  request = {};
  request.set_page_size(1);
  v1::ListHistoryResponse page;
  grpc::ClientContext context;
  SetUser(&context);
  ASSERT_TRUE(client_->ListHistory(&context, request, &page).ok());
  request.set_page_token(page.next_page_token());
  EXPECT_EQ(names(request), "train-7b ");
  request.set_user("kim");
  names(request, &refused);
  EXPECT_EQ(DetailOf(refused).field(), "page_token");
}

TEST_F(ReportServiceTest, WhatCannotBeAnsweredIsRefusedByItsField) {
  v1::GetClusterAtRequest at;
  v1::GetClusterAtResponse cluster;
  EXPECT_EQ(DetailOf(Ask(&v1::ReportApi::Stub::GetClusterAt, at, &cluster)).field(), "at_ms");
  at.set_at_ms(4'000'000'000'000);
  EXPECT_EQ(DetailOf(Ask(&v1::ReportApi::Stub::GetClusterAt, at, &cluster)).field(), "at_ms");
  v1::GetHistoryReportRequest report;
  report.set_by("colour");
  v1::GetHistoryReportResponse sums;
  EXPECT_EQ(DetailOf(Ask(&v1::ReportApi::Stub::GetHistoryReport, report, &sums)).field(), "by");
}

// A store without a reader of its own is asked on the strand.
class MemoryReportTest : public ReportServiceTest {
 protected:
  void Configure() override { config_.store = "memory"; }
};

TEST_F(MemoryReportTest, TheAnswersAreTheSame) {
  const std::uint64_t job = MustSubmit(Spec("one"));
  ASSERT_TRUE(agent_->WaitLaunch(job));
  agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING, 1)});
  WaitState(job, "running");
  EXPECT_EQ(At(WhenOf(job, "attempt_running")).jobs(0).state(), "running");
  Finish(job, Observed(job, 1, 0, v1::ObservedTask::RELEASED, 2), "succeeded");
  EXPECT_EQ(Report({}).total().succeeded(), 1u);
}

}  // namespace
}  // namespace glim::server
