// How the scheduler decides, from a real server: its status, a trace of a waiting job, the history for a simulator.
#include "scheduler/server/clients/sched_service.h"

#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <string>

#include "scheduler/server/clients/history_export.h"
#include "scheduler/server/testing/client_fixture.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using testing::Contains;
using testing::HasSubstr;
using Stub = v1::SchedApi::Stub;

class SchedServiceTest : public ClientApiTest {
 protected:
  template <typename Request, typename Response>
  grpc::Status AskSched(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, Response* response) {
    const auto stub = v1::SchedApi::NewStub(channel_);
    grpc::ClientContext context;
    SetUser(&context);
    return (stub.get()->*method)(&context, request, response);
  }
  std::uint64_t Running(const std::string& name) {
    const std::uint64_t job = MustSubmit(Spec(name));
    EXPECT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING, 1)});
    WaitState(job, "running");
    return job;
  }
  void Finish(std::uint64_t job) {
    agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RELEASED, 2)});
    WaitState(job, "succeeded");
  }
};

TEST_F(SchedServiceTest, StatusTellsPassesLeaderPolicyAndWhatIsDue) {
  const std::uint64_t first = Running("first");
  MustSubmit(Spec("waiting"));
  v1::GetSchedStatusResponse status;
  ASSERT_TRUE(AskSched(&Stub::GetSchedStatus, v1::GetSchedStatusRequest(), &status).ok());
  EXPECT_GT(status.passes().count(), 0u);
  EXPECT_GE(status.passes().p99_us(), status.passes().p50_us());
  EXPECT_EQ(status.passes().over(), status.passes().count());
  EXPECT_GT(status.commits().count(), 0u);
  EXPECT_EQ(status.epoch(), server_->snapshot()->epoch);
  EXPECT_GT(status.leads_since_ms(), 0);
  EXPECT_GE(status.now_ms(), status.last_pass_at_ms());
  EXPECT_EQ(status.last_pass_woken_by(), "job submitted");
  ASSERT_GE(status.wakes_size(), 1);
  EXPECT_EQ(status.starts(), 1u);
  EXPECT_EQ(status.jobs_queued(), 1u);
  EXPECT_EQ(status.jobs_live(), 1u);
  EXPECT_EQ(status.policy_since_ms(), status.leads_since_ms());
  EXPECT_GT(status.next_deadline_at_ms(), 0);
  EXPECT_NE(status.next_deadline(), "");
  Finish(first);
}

TEST_F(SchedServiceTest, ATraceNamesWhoKeepsTheNodes) {
  const std::uint64_t first = Running("first");
  const std::uint64_t waiting = MustSubmit(Spec("waiting"));
  v1::TraceJobRequest request;
  request.set_job_id(waiting);
  v1::TraceJobResponse trace;
  const grpc::Status status = AskSched(&Stub::TraceJob, request, &trace);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(trace.verdict(), "waits");
  std::set<std::string> stages, nodes;
  std::string keeps;
  for (const v1::TraceStep& step : trace.steps()) {
    stages.insert(step.stage());
    nodes.insert(step.nodes().begin(), step.nodes().end());
    if (step.message().find("keeps them") != std::string::npos) keeps = step.message();
  }
  EXPECT_THAT(keeps, HasSubstr("job " + std::to_string(first)));
  for (const char* stage : {"order", "quota", "placement", "preemption", "verdict", "otherwise"}) {
    EXPECT_THAT(stages, Contains(stage));
  }
  EXPECT_THAT(nodes, Contains("node-1"));

  request.set_job_id(first);
  const grpc::Status refused = AskSched(&Stub::TraceJob, request, &trace);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf(refused).reason(), "NOT_QUEUED");
  EXPECT_THAT(refused.error_message(), HasSubstr(" is running, attempt 1 since 20"));
  EXPECT_THAT(DetailOf(refused).fix(), HasSubstr("glim status " + std::to_string(first)));
  request.set_job_id(99);
  EXPECT_EQ(DetailOf(AskSched(&Stub::TraceJob, request, &trace)).reason(), "NO_SUCH_JOB");
}

TEST_F(SchedServiceTest, TheHistoryIsExportedByPages) {
  for (int i = 0; i < 3; ++i) Finish(Running("ended"));
  const std::uint64_t live = Running("live");
  v1::ExportHistoryRequest request;
  request.set_page_size(2);
  v1::ExportHistoryResponse page;
  ASSERT_TRUE(AskSched(&Stub::ExportHistory, request, &page).ok());
  ASSERT_EQ(page.nodes_size(), 1);
  EXPECT_EQ(page.nodes(0).name(), "node-1");
  EXPECT_GT(page.nodes(0).gpus(), 0u);
  ASSERT_EQ(page.jobs_size(), 3) << "two that ended, and the one that has not";
  std::set<std::uint64_t> ended;
  for (const v1::PastJob& job : page.jobs()) {
    EXPECT_EQ(job.ended_at_ms() == 0, job.id() == live);
    EXPECT_GT(job.submitted_at_ms(), 0);
    EXPECT_GE(job.held_ms(), 0);
    EXPECT_EQ(job.priority(), "normal");
    if (job.ended_at_ms() > 0) ended.insert(job.id());
  }
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(AskSched(&Stub::ExportHistory, request, &page).ok());
  ASSERT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.nodes_size(), 0);
  EXPECT_EQ(page.next_page_token(), "");
  ended.insert(page.jobs(0).id());
  EXPECT_EQ(ended.size(), 3u);

  request.set_since_ms(5);
  EXPECT_EQ(DetailOf(AskSched(&Stub::ExportHistory, request, &page)).field(), "page_token");
  request = {};
  request.set_since_ms(4'000'000'000'000);
  EXPECT_EQ(DetailOf(AskSched(&Stub::ExportHistory, request, &page)).field(), "until_ms");
  request = {};
  request.set_page_size(5000);
  EXPECT_EQ(DetailOf(AskSched(&Stub::ExportHistory, request, &page)).field(), "page_size");
}

class SchedRightsTest : public TokenServerTest {
 protected:
  template <typename Request, typename Response>
  std::string Refusal(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const std::string& user, const Request& request) {
    const auto stub = v1::SchedApi::NewStub(channel_);
    Response response;
    const grpc::Status status = Ask(stub.get(), method, TokenOf(user), request, &response);
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? DetailOf(status).reason() : "";
  }
};

TEST_F(SchedRightsTest, ATraceIsTheOwnersAndOperatorsTheStatusOperatorsTheHistoryEverybodys) {
  v1::TraceJobRequest request;
  request.set_job_id(SubmitBy(TokenOf("kim"), Spec("mine")));
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"vera", "ROLE", "ROLE"}, {"lee", "NOT_YOURS", "ROLE"},
      {"kim", "", "ROLE"},      {"tess", "", "ROLE"},
      {"ora", "", ""},          {"ada", "", ""}};
  for (const auto& [user, trace, status] : cases) {
    EXPECT_EQ(Refusal(&Stub::TraceJob, user, request), trace) << user;
    EXPECT_EQ(Refusal(&Stub::GetSchedStatus, user, v1::GetSchedStatusRequest()), status) << user;
    EXPECT_EQ(Refusal(&Stub::ExportHistory, user, v1::ExportHistoryRequest()), "") << user;
  }
}

}  // namespace
}  // namespace glim::server
