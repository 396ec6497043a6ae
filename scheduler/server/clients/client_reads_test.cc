// What users read: lists, explanations and plans, through real gRPC, the real core and SQLite.
#include <gmock/gmock.h>

#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class ClientReadsTest : public ClientApiTest {};

TEST_F(ClientReadsTest, ListsInPlanningOrderWithBlockersAndPages) {
  const std::uint64_t live = MustSubmit(Spec("live", 1, "extreme_high"));
  std::vector<std::uint64_t> normal, high;
  for (int i = 0; i < 4; ++i) {
    normal.push_back(MustSubmit(Spec("n" + std::to_string(i), 1, "normal"), i % 2 ? "lee" : "kim"));
  }
  for (int i = 0; i < 3; ++i) high.push_back(MustSubmit(Spec("h" + std::to_string(i), 1, "high")));
  std::vector<std::uint64_t> expected = {live};
  expected.insert(expected.end(), high.begin(), high.end());
  expected.insert(expected.end(), normal.begin(), normal.end());

  std::vector<std::uint64_t> listed;
  v1::ListJobsRequest request;
  request.set_page_size(3);
  int pages = 0;
  do {
    const auto page = List(request);
    for (const auto& job : page.jobs()) {
      listed.push_back(job.id());
      EXPECT_EQ(job.state() == "queued", job.id() != live);
      if (job.state() == "queued") {
        ASSERT_GE(job.blockers_size(), 1) << job.id();
        EXPECT_FALSE(job.blockers(0).kind().empty());
        EXPECT_FALSE(job.blockers(0).message().empty());
      }
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(pages, 3);

  v1::ListJobsRequest of_lee;
  of_lee.set_user("lee");
  EXPECT_EQ(List(of_lee).jobs_size(), 2);

  grpc::ClientContext context;
  SetUser(&context);
  v1::ListJobsRequest bad;
  bad.set_page_token("nonsense");
  v1::ListJobsResponse response;
  const grpc::Status status = client_->ListJobs(&context, bad, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).field(), "page_token");
}

TEST_F(ClientReadsTest, DependenciesAndTimeLimitsAreShownAndExplained) {
  const std::uint64_t first = MustSubmit(Spec("first"));
  v1::JobSpec spec = Spec("second");
  spec.set_time_limit_ms(7'200'000);
  spec.add_after()->set_job_id(first);
  const v1::Job second = GetJob(MustSubmit(spec));
  EXPECT_EQ(second.spec().time_limit_ms(), 7'200'000);
  ASSERT_EQ(second.spec().after_size(), 1);
  EXPECT_EQ(second.spec().after(0).job_id(), first);
  EXPECT_EQ(second.spec().after(0).when(), "ok");
  ASSERT_EQ(second.blockers_size(), 1);
  EXPECT_EQ(second.blockers(0).kind(), "dependency");
  EXPECT_EQ(second.blockers(0).job_ids(0), first);

  const auto field_of = [&](std::uint64_t job, const std::string& when) {
    v1::SubmitRequest request;
    *request.add_specs() = Spec("refused");
    auto* dependency = request.mutable_specs(0)->add_after();
    dependency->set_job_id(job);
    dependency->set_when(when);
    grpc::ClientContext context;
    SetUser(&context);
    v1::SubmitResponse response;
    const grpc::Status status = client_->Submit(&context, request, &response);
    EXPECT_FALSE(status.ok());
    return DetailOf(status).field() + " " + DetailOf(status).reason();
  };
  EXPECT_EQ(field_of(first, "perhaps"), "after[0] INVALID_SPEC");
  EXPECT_EQ(field_of(0, "ok"), "after[0] INVALID_SPEC");
  EXPECT_EQ(field_of(4711, "ok"), "after[0] NO_SUCH_JOB");
}

TEST_F(ClientReadsTest, ExplainsAndPlansByTrying) {
  const std::uint64_t first = MustSubmit(Spec("first", 1, "normal"));
  const std::uint64_t waits = MustSubmit(Spec("waits", 1, "low"), "lee");
  {
    grpc::ClientContext context;
    SetUser(&context, "lee");
    v1::ExplainJobRequest request;
    request.set_job_id(waits);
    v1::ExplainJobResponse why;
    const grpc::Status status = client_->ExplainJob(&context, request, &why);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(why.job().id(), waits);
    ASSERT_GE(why.job().blockers_size(), 1);
    ASSERT_TRUE(why.has_outlook());
    EXPECT_EQ(why.outlook().ahead_count(), 0u);
    EXPECT_GT(why.outlook().promised_by_at_ms(), why.job().submitted_at_ms());
    EXPECT_THAT(why.outlook().estimate().unknown(), HasSubstr("too few jobs"));
  }
  {
    grpc::ClientContext context;
    SetUser(&context);
    v1::ExplainJobRequest request;
    request.set_job_id(first);
    v1::ExplainJobResponse why;
    EXPECT_TRUE(client_->ExplainJob(&context, request, &why).ok());
    EXPECT_FALSE(why.has_outlook()) << "it does not wait";
  }
  const auto plan = [&](const v1::JobSpec& spec, v1::PlanJobResponse* response) {
    grpc::ClientContext context;
    SetUser(&context);
    v1::PlanJobRequest request;
    *request.add_specs() = spec;
    return client_->PlanJob(&context, request, response);
  };
  v1::PlanJobResponse planned;
  ASSERT_TRUE(plan(Spec("urgent", 1, "extreme_high"), &planned).ok());
  ASSERT_EQ(planned.jobs_size(), 1);
  ASSERT_TRUE(planned.jobs(0).has_start());
  EXPECT_EQ(planned.jobs(0).start().nodes(0).name(), "node-1");
  ASSERT_EQ(planned.jobs(0).start().victims_size(), 1);
  EXPECT_EQ(planned.jobs(0).start().victims(0).job_id(), first);
  EXPECT_EQ(planned.jobs(0).start().victims(0).user(), "kim");
  EXPECT_THAT(planned.jobs(0).start().message(), HasSubstr("starts now by interrupting job " + std::to_string(first)));

  v1::PlanJobResponse waiting;
  ASSERT_TRUE(plan(Spec("patient", 1, "low"), &waiting).ok());
  EXPECT_FALSE(waiting.jobs(0).has_start());
  EXPECT_GE(waiting.jobs(0).blockers_size(), 1);
  EXPECT_TRUE(waiting.jobs(0).has_outlook());

  EXPECT_EQ(DetailOf(plan(Spec("wide", 7), &waiting)).reason(), "INFEASIBLE");
  v1::JobSpec lost = Spec("lost");
  lost.add_after()->set_job_id(4711);
  EXPECT_EQ(DetailOf(plan(lost, &waiting)).field(), "after[0]");
  EXPECT_EQ(DetailOf(plan(Spec("bad", 0), &waiting)).field(), "nodes");
  EXPECT_EQ(List({}).jobs_size(), 2) << "nothing was submitted";

  grpc::ClientContext context;
  SetUser(&context);
  v1::PlanJobRequest many;
  for (int i = 0; i < 101; ++i) *many.add_specs() = Spec("many");
  EXPECT_EQ(DetailOf(client_->PlanJob(&context, many, &waiting)).field(), "specs");
  grpc::ClientContext context2;
  SetUser(&context2);
  v1::ExplainJobRequest unknown;
  unknown.set_job_id(4711);
  v1::ExplainJobResponse why;
  EXPECT_EQ(client_->ExplainJob(&context2, unknown, &why).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ClientReadsTest, EndedJobsAreListedWhenAskedFor) {
  const std::uint64_t first = MustSubmit(Spec("first", 1, "extreme_high"));
  const std::uint64_t second = MustSubmit(Spec("second"));
  grpc::ClientContext context;
  SetUser(&context);
  v1::CancelRequest cancel;
  cancel.set_job_id(second);
  v1::CancelResponse cancelled;
  ASSERT_TRUE(client_->Cancel(&context, cancel, &cancelled).ok());
  EXPECT_EQ(cancelled.state(), "cancelled");
  EXPECT_EQ(List({}).jobs_size(), 1);
  v1::ListJobsRequest all;
  all.set_all(true);
  const auto jobs = List(all);
  ASSERT_EQ(jobs.jobs_size(), 2);
  EXPECT_EQ(jobs.jobs(0).id(), first);
  EXPECT_EQ(jobs.jobs(1).id(), second);
}

}  // namespace
}  // namespace glim::server
