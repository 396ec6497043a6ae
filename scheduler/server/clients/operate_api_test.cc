// What operators change by OperateApi: nodes that are taken out and given back, jobs that are moved, given another
// class or ended; what each answers, and what ListNodes shows and leaves out.
#include <gmock/gmock.h>

#include <cstdint>
#include <ctime>
#include <limits>

#include "glim/v1/operate_api.grpc.pb.h"
#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OperateApiTest : public ClientApiTest {
 protected:
  void SetUp() override {
    ClientApiTest::SetUp();
    operate_ = v1::OperateApi::NewStub(channel_);
  }
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (v1::OperateApi::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response, const std::string& user = "ora") {
    grpc::ClientContext context;
    SetUser(&context, user);
    return (operate_.get()->*method)(&context, request, response);
  }
  v1::DrainNodeResponse MustDrain(bool dry_run) {
    v1::DrainNodeRequest request;
    request.set_node("node-1");
    request.set_reason("a new fan");
    request.set_for_ms(3'600'000);
    request.set_dry_run(dry_run);
    v1::DrainNodeResponse response;
    const grpc::Status status = Ask(&v1::OperateApi::Stub::DrainNode, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::vector<std::string> NamesOf(const v1::ListNodesRequest& request, grpc::Status* status = nullptr) {
    grpc::ClientContext context;
    SetUser(&context);
    v1::ListNodesResponse response;
    const grpc::Status got = client_->ListNodes(&context, request, &response);
    if (status) *status = got;
    std::vector<std::string> names;
    for (const v1::Node& node : response.nodes()) names.push_back(node.name());
    next_ = response.next_page_token();
    return names;
  }
  std::unique_ptr<v1::OperateApi::Stub> operate_;
  std::string next_;
};

TEST_F(OperateApiTest, ADrainIsTriedThenDoneShownAndEnded) {
  const v1::DrainNodeResponse dry = MustDrain(true);
  EXPECT_TRUE(dry.node().cordon().drain());
  EXPECT_EQ(dry.jobs_size(), 0);
  EXPECT_FALSE(GetNode("node-1").has_cordon()) << "nothing has changed";

  const v1::DrainNodeResponse done = MustDrain(false);
  EXPECT_TRUE(done.node().cordon().drained()) << "nobody was there";
  const v1::Node node = GetNode("node-1");
  EXPECT_EQ(node.cordon().by(), "ora");
  EXPECT_EQ(node.cordon().reason(), "a new fan");
  EXPECT_EQ(node.cordon().until_ms() - node.cordon().since_ms(), 3'600'000);
  EXPECT_EQ(node.message(), "drained by ora: a new fan");

  const std::uint64_t job = MustSubmit(Spec("waits"));
  const v1::Job waits = WaitJob(
      job, [](const v1::Job& j) { return j.blockers_size() > 0; }, "to be blocked");
  EXPECT_EQ(waits.blockers(0).kind(), "nodes_out");
  EXPECT_THAT(waits.blockers(0).message(), HasSubstr("node node-1 is drained by ora: a new fan"));

  v1::UncordonNodeRequest back;
  back.set_node("node-1");
  v1::UncordonNodeResponse given;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::UncordonNode, back, &given).ok());
  EXPECT_FALSE(GetNode("node-1").has_cordon());
  WaitJob(
      job, [](const v1::Job& j) { return j.state() != "queued"; }, "to start");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::UncordonNode, back, &given)).reason(), "NOT_CORDONED");
}

TEST_F(OperateApiTest, ANodeIsMeasuredWhenAnOperatorAsksForIt) {
  v1::ValidateNodeRequest request;
  request.set_node("node-1");
  request.set_full(true);
  request.add_folders("/ckpt");
  request.set_dry_run(true);
  v1::ValidateNodeResponse response;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::ValidateNode, request, &response).ok());
  EXPECT_EQ(GetNode("node-1").validation().need(), "") << "nothing has changed";
  request.set_dry_run(false);
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::ValidateNode, request, &response).ok());
  EXPECT_EQ(response.node().validation().need(), "asked");
  EXPECT_EQ(response.jobs_size(), 0) << "nobody had it";
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").validation().job_id() > 0; }));
  const v1::Job job = GetJob(GetNode("node-1").validation().job_id());
  EXPECT_EQ(job.spec().run(), "exec glim-validate --full --json --folder /ckpt");
  EXPECT_EQ(job.user(), "glim");

  request.set_node("node-9");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::ValidateNode, request, &response)).reason(), "NO_SUCH_NODE");
  request.set_node("node-1");
  request.add_folders("here");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::ValidateNode, request, &response)).field(), "folders[1]");
}

TEST_F(OperateApiTest, ACordonOutlivesTheScheduler) {
  MustDrain(false);
  const v1::Cordon before = GetNode("node-1").cordon();
  agent_.reset();
  RestartServer();
  EXPECT_EQ(GetNode("node-1").cordon().SerializeAsString(), before.SerializeAsString());
}

TEST_F(OperateApiTest, ChangesAreRefusedWithTheFieldAndTheFix) {
  v1::CordonNodeRequest cordon;
  v1::CordonNodeResponse cordoned;
  cordon.set_node("node-1");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::CordonNode, cordon, &cordoned)).field(), "reason");
  cordon.set_node("nowhere");
  cordon.set_reason("x");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::CordonNode, cordon, &cordoned)).reason(), "NO_SUCH_NODE");
  v1::DrainNodeRequest drain;
  v1::DrainNodeResponse drained;
  drain.set_node("node-1");
  drain.set_reason("a new fan");
  drain.set_deadline_ms(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::DrainNode, drain, &drained)).field(), "deadline_ms");
  v1::SetJobPriorityRequest priority;
  v1::SetJobPriorityResponse given;
  priority.set_job_id(MustSubmit(Spec("sft")));
  priority.set_priority("urgent");
  EXPECT_EQ(Ask(&v1::OperateApi::Stub::SetJobPriority, priority, &given).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::MoveJobRequest move;
  v1::MoveJobResponse moved;
  move.set_job_id(4711);
  move.set_reason("x");
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::MoveJob, move, &moved)).reason(), "NO_SUCH_JOB");
}

TEST_F(OperateApiTest, AJobGetsAnotherClass) {
  v1::SetJobPriorityRequest request;
  request.set_job_id(MustSubmit(Spec("sft")));
  request.set_priority("high");
  request.set_reason("it is due");
  request.set_dry_run(true);
  v1::SetJobPriorityResponse response;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::SetJobPriority, request, &response, "kim").ok());
  EXPECT_EQ(response.before(), "normal");
  EXPECT_EQ(response.after(), "high");
  EXPECT_EQ(GetJob(request.job_id()).spec().priority(), "normal");
  request.set_dry_run(false);
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::SetJobPriority, request, &response, "kim").ok());
  EXPECT_EQ(GetJob(request.job_id()).spec().priority(), "high");
}

TEST_F(OperateApiTest, AJobIsUpdatedAndSaysUntilWhenItWaits) {
  v1::JobSpec spec = Spec("sft");
  const std::int64_t moment = std::int64_t{std::time(nullptr)} * 1000 + 3'600'000;
  spec.set_start_after_ms(moment);
  v1::UpdateJobRequest request;
  request.set_job_id(MustSubmit(spec));
  ASSERT_EQ(GetJob(request.job_id()).blockers_size(), 1);
  EXPECT_EQ(GetJob(request.job_id()).blockers(0).kind(), "start_after");
  request.set_time_limit_ms(7'200'000);
  request.set_start_after_ms(moment + 1'000);
  request.set_reason("the data comes later");
  request.set_dry_run(true);
  v1::UpdateJobResponse response;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::UpdateJob, request, &response, "kim").ok());
  EXPECT_EQ(response.changes_size(), 2);
  EXPECT_EQ(GetJob(request.job_id()).spec().time_limit_ms(), 0);
  request.set_dry_run(false);
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::UpdateJob, request, &response, "kim").ok());
  EXPECT_EQ(response.changes(0), "limits.time none -> 2h");
  EXPECT_EQ(GetJob(request.job_id()).spec().time_limit_ms(), 7'200'000);
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::UpdateJob, request, &response, "lee")).reason(), "NOT_YOURS");
  v1::UpdateJobRequest nothing;
  nothing.set_job_id(request.job_id());
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::UpdateJob, nothing, &response, "kim")).field(), "name");
}

TEST_F(OperateApiTest, AllOfAUsersJobsEndWithTheReason) {
  MustDrain(false);
  const std::uint64_t first = MustSubmit(Spec("a")), second = MustSubmit(Spec("b"));
  const std::uint64_t others = MustSubmit(Spec("c"), "lee");
  v1::CancelUserJobsRequest request;
  request.set_user("kim");
  request.set_reason("left the company");
  v1::CancelUserJobsResponse response;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::CancelUserJobs, request, &response, "kim").ok());
  EXPECT_EQ(response.count(), 2u);
  EXPECT_THAT(response.job_ids(), ElementsAre(first, second));
  EXPECT_EQ(GetJob(first).message(), "cancelled by kim: left the company");
  EXPECT_EQ(GetJob(others).state(), "queued");
}

TEST_F(OperateApiTest, NodesAreListedByFilterAndInPages) {
  FakeAgent second(channel_, MakeHello(server_->cluster_id(), "node-2"));
  ASSERT_TRUE(second.WaitWelcome());
  MustDrain(false);
  v1::ListNodesRequest request;
  EXPECT_THAT(NamesOf(request), ElementsAre("node-1", "node-2"));
  request.set_page_size(1);
  EXPECT_THAT(NamesOf(request), ElementsAre("node-1"));
  request.set_page_token(next_);
  EXPECT_THAT(NamesOf(request), ElementsAre("node-2"));
  EXPECT_EQ(next_, "");
  request.Clear();
  request.set_cordoned(true);
  EXPECT_THAT(NamesOf(request), ElementsAre("node-1"));
  request.Clear();
  request.add_states("draining");
  request.add_states("drained");
  EXPECT_THAT(NamesOf(request), ElementsAre("node-1")) << "as the lists show it";
  request.clear_states();
  request.add_states("cordoned");
  EXPECT_THAT(NamesOf(request), ElementsAre());
  request.Clear();
  request.set_name("-2");
  request.add_states("ready");
  EXPECT_THAT(NamesOf(request), ElementsAre("node-2"));
  request.set_pool("no such");
  EXPECT_THAT(NamesOf(request), ElementsAre());
  request.Clear();
  request.add_states("tired");
  grpc::Status status;
  NamesOf(request, &status);
  EXPECT_EQ(DetailOf(status).field(), "states");
}

TEST_F(OperateApiTest, WhatAStopWouldLoseIsWeighedOfThoseThatHaveNodes) {
  const std::uint64_t runs = MustSubmit(Spec("runs"));
  ASSERT_TRUE(agent_->WaitLaunch(runs));
  agent_->Report({Observed(runs, 1, 0, v1::ObservedTask::RUNNING, 40)});
  WaitState(runs, "running");
  const std::uint64_t waits = MustSubmit(Spec("waits"), "lee");
  v1::WeighJobsRequest request;
  for (const std::uint64_t id : {waits, runs, std::uint64_t{4711}}) request.add_job_ids(id);
  v1::WeighJobsResponse response;
  ASSERT_TRUE(Ask(&v1::OperateApi::Stub::WeighJobs, request, &response, "lee").ok());
  ASSERT_EQ(response.jobs_size(), 1) << "the others lose nothing";
  const v1::JobAtRisk& risk = response.jobs(0);
  EXPECT_EQ(risk.job_id(), runs);
  EXPECT_EQ(risk.name() + " of " + risk.user(), "runs of kim");
  EXPECT_GE(risk.since_save_ms(), 0);
  EXPECT_EQ(risk.gpu_ms(), risk.since_save_ms() * GetNode("node-1").labels().gpu_count());
  EXPECT_EQ(risk.steps_since_save(), 41) << "those from 0 to 40";

  for (int more = 0; more < 1000; ++more) request.add_job_ids(1);
  EXPECT_EQ(DetailOf(Ask(&v1::OperateApi::Stub::WeighJobs, request, &response)).field(), "job_ids");
}

TEST_F(OperateApiTest, WhatWasShownIsWhatIsChanged) {
  const std::string seen = MustDrain(true).state();
  MustDrain(false);
  v1::CordonNodeRequest late;
  late.set_node("node-1");
  late.set_reason("late");
  late.set_expect(seen);
  v1::CordonNodeResponse response;
  EXPECT_EQ(Ask(&v1::OperateApi::Stub::CordonNode, late, &response).error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(GetNode("node-1").cordon().reason(), "a new fan");
  v1::UncordonNodeRequest back;
  back.set_node("node-1");
  back.set_expect(seen);
  v1::UncordonNodeResponse done;
  EXPECT_EQ(Ask(&v1::OperateApi::Stub::UncordonNode, back, &done).error_code(), grpc::StatusCode::ABORTED);
  back.set_expect(MustDrain(true).state());
  EXPECT_TRUE(Ask(&v1::OperateApi::Stub::UncordonNode, back, &done).ok());
}

}  // namespace
}  // namespace glim::server
