// What jobs' saves take, and what running jobs have had: from a real server, by what its agents told.
#include <gmock/gmock.h>

#include "glim/v1/report_api.grpc.pb.h"
#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

class StorageReportTest : public ClientApiTest {
 protected:
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (v1::ReportApi::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response) {
    const auto stub = v1::ReportApi::NewStub(channel_);
    grpc::ClientContext context;
    SetUser(&context);
    return (stub.get()->*method)(&context, request, response);
  }
  v1::GetStorageReportResponse Storage(const std::string& by = "", const std::string& user = "") {
    v1::GetStorageReportRequest request;
    request.set_by(by);
    request.set_user(user);
    v1::GetStorageReportResponse response;
    const grpc::Status status = Ask(&v1::ReportApi::Stub::GetStorageReport, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::SavesHeld Held() const {
    const v1::Hello hello = MakeHello(server_->cluster_id(), "node-1");
    v1::SavesHeld held;
    held.set_cluster_id(hello.cluster_id());
    held.set_node_name(hello.node_name());
    held.set_machine_id(hello.machine_id());
    return held;
  }
  static void Add(v1::SavesHeld* held, std::uint64_t job, std::int64_t bytes, std::uint32_t saves) {
    v1::JobSaves* const one = held->add_held();
    one->set_job_id(job);
    one->set_bytes(bytes);
    one->set_saves(saves);
  }
  v1::SavesVerdict Tell(const v1::SavesHeld& held) {
    grpc::ClientContext context;
    v1::SavesVerdict verdict;
    const grpc::Status status = v1::AgentApi::NewStub(channel_)->ReviewSaves(&context, held, &verdict);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return verdict;
  }
  std::uint64_t Running(const std::string& name, const std::string& user) {
    const std::uint64_t job = MustSubmit(Spec(name), user);
    EXPECT_TRUE(agent_->WaitLaunch(job));
    agent_->Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING, 5)});
    WaitState(job, "running");
    return job;
  }
};

TEST_F(StorageReportTest, WhatAgentsFoundIsSummedByWhoseItIs) {
  EXPECT_EQ(Storage().nodes_silent(), 1u) << "nobody has looked yet";
  const std::uint64_t ended = Running("ended", "lee");
  agent_->Report({Observed(ended, 1, 0, v1::ObservedTask::RELEASED, 5)});
  WaitState(ended, "succeeded");
  const std::uint64_t lives = Running("lives", "kim");
  v1::SavesHeld held = Held();
  held.set_looked(true);
  Add(&held, ended, 1000, 2);
  Add(&held, lives, 500, 1);
  Add(&held, 99, 30, 0);
  held.mutable_held(1)->set_in_use(true);
  Tell(held);

  v1::GetStorageReportResponse report = Storage();
  EXPECT_EQ(report.nodes_told(), 1u);
  EXPECT_EQ(report.nodes_silent(), 0u);
  EXPECT_FALSE(report.root_told());
  EXPECT_GT(report.oldest_look_ms(), 0);
  ASSERT_EQ(report.rows_size(), 3);
  EXPECT_EQ(report.rows(0).name(), "lee");
  EXPECT_EQ(report.rows(0).bytes(), 1000);
  EXPECT_EQ(report.rows(0).saves(), 2u);
  EXPECT_EQ(report.rows(0).ended_jobs(), 1u);
  EXPECT_EQ(report.rows(1).name(), "kim");
  EXPECT_EQ(report.rows(1).ended_jobs(), 0u);
  EXPECT_EQ(report.rows(2).name(), "(unknown)");
  EXPECT_EQ(report.total().bytes(), 1530);
  EXPECT_EQ(report.total().jobs(), 3u);
  report = Storage("job", "lee");
  ASSERT_EQ(report.rows_size(), 1);
  EXPECT_EQ(report.rows(0).name(), std::to_string(ended));
  EXPECT_EQ(report.rows(0).job_name(), "ended");
  EXPECT_EQ(report.rows(0).user(), "lee");

  v1::SavesHeld removed = Held();
  removed.add_removed()->set_job_id(ended);
  Tell(removed);
  EXPECT_EQ(Storage().total().bytes(), 530) << "before anybody looks again";
  v1::GetStorageReportRequest wrong;
  wrong.set_by("pool");
  const grpc::Status status = Ask(&v1::ReportApi::Stub::GetStorageReport, wrong, &report);
  EXPECT_EQ(DetailOf(status).field(), "by");
}

TEST_F(StorageReportTest, AfterAStartEachAgentIsAskedOnceToLookSoon) {
  const v1::SavesHeld about_nothing = Held();
  EXPECT_EQ(Tell(about_nothing).again_ms(), 1);
  EXPECT_EQ(Tell(about_nothing).again_ms(), Hours(1).ms) << "one of an earlier release does not look every moment";
  v1::SavesHeld looked = Held();
  looked.set_looked(true);
  Tell(looked);
  EXPECT_EQ(Storage().nodes_told(), 1u) << "it holds nothing, and has said so";
}

TEST_F(StorageReportTest, JobsThatHaveNotEndedAreReportedApart) {
  const std::uint64_t ended = Running("ended", "lee");
  agent_->Report({Observed(ended, 1, 0, v1::ObservedTask::RELEASED, 5)});
  WaitState(ended, "succeeded");
  Running("lives", "kim");
  MustSubmit(Spec("waits"), "ann");
  v1::GetHistoryReportRequest request;
  request.set_by("user");
  request.set_running(true);
  v1::GetHistoryReportResponse report;
  ASSERT_TRUE(Eventually([&] {
    report.Clear();
    const grpc::Status status = Ask(&v1::ReportApi::Stub::GetHistoryReport, request, &report);
    return status.ok() && report.total().gpu_ms() > 0;
  })) << report.DebugString();
  EXPECT_TRUE(report.running());
  ASSERT_EQ(report.rows_size(), 1) << "neither the one that ended nor the one that has had nothing";
  EXPECT_EQ(report.rows(0).name(), "kim");
  EXPECT_EQ(report.rows(0).jobs(), 1u);
  EXPECT_EQ(report.rows(0).succeeded() + report.rows(0).failed() + report.rows(0).cancelled(), 0u);
  request.set_since_ms(1);
  EXPECT_EQ(DetailOf(Ask(&v1::ReportApi::Stub::GetHistoryReport, request, &report)).field(), "running");
}

}  // namespace
}  // namespace glim::server
