// What users' programs can ask, through real gRPC, the real core and SQLite.
#include <gmock/gmock.h>

#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

TEST_F(ClientApiTest, SubmitsAndShowsWhatWasSubmitted) {
  v1::JobSpec spec = Spec("train", 1, "high");
  spec.mutable_placement()->add_zones("A");
  spec.mutable_placement()->set_leaf("any");
  spec.mutable_placement()->set_nvlink("pair");
  spec.set_launcher(v1::LAUNCHER_PER_GPU);
  auto* var = spec.add_env();
  var->set_name("LR");
  var->set_value("0.1");
  spec.mutable_interrupt()->set_grace_ms(30'000);
  spec.mutable_interrupt()->set_max_grace_ms(90'000);
  spec.mutable_checkpoint()->set_dir("/ckpt/$GLIM_JOB_ID");
  spec.mutable_restart()->add_on("node_failure");
  spec.mutable_restart()->set_max(3);
  spec.mutable_restart()->set_backoff_ms(1000);
  const std::uint64_t id = MustSubmit(spec);
  const v1::Job job = GetJob(id);
  EXPECT_EQ(job.user(), "kim");
  EXPECT_EQ(job.spec().name(), "train");
  EXPECT_EQ(job.priority(), "high");
  EXPECT_EQ(job.spec().placement().zones(0), "A");
  EXPECT_EQ(job.spec().placement().leaf(), "any");
  EXPECT_EQ(job.spec().placement().nvlink(), "pair");
  EXPECT_EQ(job.spec().launcher(), v1::LAUNCHER_PER_GPU);
  EXPECT_EQ(job.spec().env(0).value(), "0.1");
  EXPECT_EQ(job.spec().interrupt().mode(), "auto");
  EXPECT_EQ(job.spec().interrupt().grace_ms(), 30'000);
  EXPECT_EQ(job.spec().checkpoint().dir(), "/ckpt/$GLIM_JOB_ID");
  EXPECT_EQ(job.spec().restart().max(), 3u);
  EXPECT_GT(job.submitted_at_ms(), 0);
}

// 0 is an amount like others: only what is not set gets its default.
TEST_F(ClientApiTest, NoGraceAtAllIsNotTheDefault) {
  v1::JobSpec spec = Spec("hasty");
  spec.mutable_interrupt()->set_grace_ms(0);
  spec.mutable_interrupt()->set_max_grace_ms(0);
  const v1::Job hasty = GetJob(MustSubmit(spec));
  EXPECT_EQ(hasty.spec().interrupt().grace_ms(), 0);
  EXPECT_EQ(hasty.spec().interrupt().max_grace_ms(), 0);
  EXPECT_EQ(hasty.asked_by(), "SIGTERM, until the SDK or glim-task says hello; grace 0s");
  const v1::Job unsaid = GetJob(MustSubmit(Spec("unsaid")));
  EXPECT_EQ(unsaid.spec().interrupt().grace_ms(), 60'000);
  EXPECT_EQ(unsaid.spec().interrupt().max_grace_ms(), 300'000);
}

TEST_F(ClientApiTest, RefusalsNameTheField) {
  const struct {
    const char* field;
    std::function<void(v1::JobSpec*)> spoil;
  } cases[] = {
      {"name", [](v1::JobSpec* s) { s->set_name(""); }},
      {"nodes", [](v1::JobSpec* s) { s->set_nodes(0); }},
      {"priority", [](v1::JobSpec* s) { s->set_priority("urgent"); }},
      {"run", [](v1::JobSpec* s) { s->clear_run(); }},
      {"workdir", [](v1::JobSpec* s) { s->set_workdir("relative"); }},
      {"placement.leaf", [](v1::JobSpec* s) { s->mutable_placement()->set_leaf("spread"); }},
      {"placement.cross_zone", [](v1::JobSpec* s) { s->mutable_placement()->set_cross_zone("always"); }},
      {"placement.nvlink", [](v1::JobSpec* s) { s->mutable_placement()->set_nvlink("half"); }},
      {"interrupt.mode", [](v1::JobSpec* s) { s->mutable_interrupt()->set_mode("polite"); }},
      {"interrupt.grace", [](v1::JobSpec* s) { s->mutable_interrupt()->set_grace_ms(-5); }},
      {"launcher", [](v1::JobSpec* s) { s->set_launcher(static_cast<v1::Launcher>(9)); }},
      {"restart.on[0]", [](v1::JobSpec* s) { s->mutable_restart()->add_on("boredom"); }},
      {"restart.on[0]", [](v1::JobSpec* s) { s->mutable_restart()->add_on("gpu_failure"); }},
      {"interrupt.grace", [](v1::JobSpec* s) { s->mutable_interrupt()->set_grace_ms(300'001); }},
      {"interrupt.max_grace", [](v1::JobSpec* s) { s->mutable_interrupt()->set_max_grace_ms(86'400'000); }},
      {"env.RANK", [](v1::JobSpec* s) { s->add_env()->set_name("RANK"); }},
  };
  for (const auto& c : cases) {
    v1::JobSpec spec = Spec("bad");
    c.spoil(&spec);
    const grpc::Status status = SubmitOne(spec);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << c.field;
    EXPECT_EQ(DetailOf(status).field(), c.field);
    EXPECT_FALSE(DetailOf(status).fix().empty()) << c.field;
  }
  EXPECT_EQ(List({}).jobs_size(), 0);
}

TEST_F(ClientApiTest, WhatTheClusterCannotRunIsInfeasible) {
  const grpc::Status status = SubmitOne(Spec("wide", 7));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf(status).reason(), "INFEASIBLE");
  EXPECT_EQ(DetailOf(status).field(), "nodes");
}

TEST_F(ClientApiTest, ABatchIsAllOrNothingAndNamesTheSpec) {
  v1::SubmitRequest request;
  for (int i = 0; i < 5; ++i) *request.add_specs() = Spec("job-" + std::to_string(i));
  request.mutable_specs(3)->set_nodes(0);
  v1::SubmitResponse response;
  grpc::Status status = Submit(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).field(), "specs[3].nodes");
  request.mutable_specs(3)->set_nodes(7);
  status = Submit(request, &response);
  EXPECT_EQ(DetailOf(status).field(), "specs[3].nodes");
  EXPECT_EQ(DetailOf(status).reason(), "INFEASIBLE");
  EXPECT_EQ(List({}).jobs_size(), 0);
  request.mutable_specs(3)->set_nodes(1);
  ASSERT_TRUE(Submit(request, &response).ok());
  EXPECT_EQ(response.job_ids_size(), 5);
  EXPECT_EQ(List({}).jobs_size(), 5);
}

TEST_F(ClientApiTest, ALargeBatchFitsAndALargerOneIsRefused) {
  v1::SubmitRequest request;
  for (int i = 0; i < 2000; ++i) {
    v1::JobSpec spec = Spec("job-" + std::to_string(i));
    spec.set_run(std::string(2000, 'x'));
    *request.add_specs() = spec;
  }
  v1::SubmitResponse response;
  const grpc::Status status = Submit(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.job_ids_size(), 2000);
  *request.add_specs() = Spec("one-more");
  EXPECT_EQ(DetailOf(Submit(request, &response)).field(), "specs");
}

TEST_F(ClientApiTest, ARequestIdMakesASubmissionIdempotent) {
  v1::SubmitRequest request;
  *request.add_specs() = Spec("once");
  request.set_request_id("r-1");
  v1::SubmitResponse first, again, other;
  ASSERT_TRUE(Submit(request, &first).ok());
  ASSERT_TRUE(Submit(request, &again).ok());
  EXPECT_EQ(first.job_ids(0), again.job_ids(0));
  ASSERT_TRUE(Submit(request, &other, "lee").ok());
  EXPECT_NE(first.job_ids(0), other.job_ids(0)) << "request ids are a user's own";
  request.mutable_specs(0)->set_run("something else");
  EXPECT_EQ(Submit(request, &again).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  RestartServer();
  request.mutable_specs(0)->set_run("python train.py");
  v1::SubmitResponse later;
  ASSERT_TRUE(Submit(request, &later).ok());
  EXPECT_EQ(first.job_ids(0), later.job_ids(0));
}

TEST_F(ClientApiTest, ValidateOnlyStoresNothing) {
  v1::SubmitRequest request;
  *request.add_specs() = Spec("dry");
  request.set_validate_only(true);
  v1::SubmitResponse response;
  ASSERT_TRUE(Submit(request, &response).ok());
  EXPECT_EQ(response.job_ids_size(), 0);
  request.mutable_specs(0)->set_nodes(7);
  EXPECT_EQ(Submit(request, &response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(List({}).jobs_size(), 0);
}

TEST_F(ClientApiTest, WhoAsksMustBeSaidAndProper) {
  for (const std::string& user : {std::string(), std::string("a b"), std::string("kim/lee"), std::string(65, 'k')}) {
    v1::SubmitRequest request;
    *request.add_specs() = Spec("anonymous");
    v1::SubmitResponse response;
    EXPECT_EQ(Submit(request, &response, user).error_code(), grpc::StatusCode::UNAUTHENTICATED) << user;
  }
  grpc::ClientContext context;
  v1::ListNodesResponse nodes;
  EXPECT_EQ(client_->ListNodes(&context, {}, &nodes).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext anyone;
  v1::GetVersionResponse version;
  ASSERT_TRUE(client_->GetVersion(&anyone, {}, &version).ok());
  EXPECT_EQ(version.cluster_id(), server_->cluster_id());
  EXPECT_EQ(version.protocol_version(), 1u);
}

TEST_F(ClientApiTest, TellsTheCheckpointRootAndItsMarker) {
  v1::GetVersionResponse version;
  grpc::ClientContext before;
  ASSERT_TRUE(client_->GetVersion(&before, {}, &version).ok());
  EXPECT_EQ(version.checkpoint_root(), "") << "there is none";
  config_.policy.checkpoint_root = "/shared/glim";
  RestartServer();
  grpc::ClientContext after;
  ASSERT_TRUE(client_->GetVersion(&after, {}, &version).ok());
  EXPECT_EQ(version.checkpoint_root(), "/shared/glim");
  EXPECT_EQ(version.checkpoint_marker(), ".glim-root-" + server_->cluster_id());
}

TEST_F(ClientApiTest, CancelsSuspendsAndResumesOnesOwn) {
  const std::uint64_t running = MustSubmit(Spec("holds-the-node"));
  const std::uint64_t waiting = MustSubmit(Spec("waits"));
  const auto call = [&](auto method, auto request, auto response, const std::string& user) {
    grpc::ClientContext context;
    SetUser(&context, user);
    request.set_job_id(waiting);
    return (client_.get()->*method)(&context, request, &response);
  };
  using Stub = v1::ClientApi::Stub;
  EXPECT_EQ(call(&Stub::Cancel, v1::CancelRequest(), v1::CancelResponse(), "lee").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(call(&Stub::Suspend, v1::SuspendRequest(), v1::SuspendResponse(), "kim").ok());
  EXPECT_EQ(GetJob(waiting).state(), "held");
  EXPECT_TRUE(call(&Stub::Resume, v1::ResumeRequest(), v1::ResumeResponse(), "kim").ok());
  EXPECT_EQ(GetJob(waiting).state(), "queued");
  EXPECT_TRUE(call(&Stub::Cancel, v1::CancelRequest(), v1::CancelResponse(), "kim").ok());
  EXPECT_EQ(GetJob(waiting).state(), "cancelled");
  EXPECT_EQ(GetJob(running).state(), "starting");
  grpc::ClientContext context;
  SetUser(&context);
  v1::CancelRequest unknown;
  unknown.set_job_id(4711);
  v1::CancelResponse response;
  EXPECT_EQ(client_->Cancel(&context, unknown, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ClientApiTest, ARestartKeepsWhatWasAcknowledged) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(MustSubmit(Spec("kept-" + std::to_string(i))));
  const std::string cluster = server_->cluster_id();
  const auto before = server_->snapshot()->epoch;
  RestartServer();
  EXPECT_EQ(server_->cluster_id(), cluster);
  EXPECT_GT(server_->snapshot()->epoch, before);
  for (const std::uint64_t id : ids) EXPECT_EQ(GetJob(id).spec().name(), "kept-" + std::to_string(id - ids[0]));
  FakeAgent agent(channel_, MakeHello(cluster, "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  EXPECT_GT(MustSubmit(Spec("new")), ids.back());
}

TEST_F(ClientApiTest, TheSchedulersStatusIsToldAndNodesAreReturned) {
  MustSubmit(Spec("a"));
  MustSubmit(Spec("b"));
  grpc::ClientContext context;
  v1::GetSchedulerStatusResponse status;
  ASSERT_TRUE(admin_->GetSchedulerStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.jobs_queued(), 1u);
  EXPECT_EQ(status.jobs_live(), 1u);
  EXPECT_EQ(status.nodes(), 1u);
  EXPECT_EQ(status.nodes_ready(), 1u);
  EXPECT_EQ(status.store(), "sqlite");
  EXPECT_GT(status.revision(), 0u);
  grpc::ClientContext known, unknown;
  v1::ReturnNodeRequest request;
  v1::ReturnNodeResponse response;
  request.set_node("node-1");
  ASSERT_TRUE(admin_->ReturnNode(&known, request, &response).ok());
  EXPECT_EQ(response.state(), "ready");
  request.set_node("nowhere");
  EXPECT_EQ(admin_->ReturnNode(&unknown, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace glim::server
