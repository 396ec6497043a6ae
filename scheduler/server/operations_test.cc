// What operators' tools rely on: health, metrics, a port that is ours alone.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <boost/asio/ip/tcp.hpp>
#include <sstream>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

std::string Bytes(grpc::ByteBuffer buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

class OperationsTest : public ServerTest {
 protected:
  void UseMetrics() {
    config_.metrics = "127.0.0.1:0";
    RestartServer();
  }
  // One message there, one back, on a method that we have no stub for.
  grpc::Status Ask(const std::string& method, const std::string& request, std::string* response) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + LongWait());
    auto call = stub.PrepareCall(&context, method, &queue);
    const auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    wait();
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    wait();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    if (wait()) *response = Bytes(answer);
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    return status;
  }
  std::string Scrape() {
    boost::asio::ip::tcp::iostream stream("127.0.0.1", std::to_string(server_->metrics_port()));
    stream << "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n" << std::flush;
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
};

TEST_F(OperationsTest, HealthSaysServing) {
  std::string response;
  const grpc::Status status = Ask("/grpc.health.v1.Health/Check", "", &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response, std::string("\x08\x01"));  // HealthCheckResponse{status: SERVING}
}

TEST_F(OperationsTest, NobodyIsToldWhatIsOffered) {
  std::string response;  // ServerReflectionRequest{list_services: "*"}
  const grpc::Status status =
      Ask("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(OperationsTest, MetricsCountJobsNodesPassesAndInterrupts) {
  UseMetrics();
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const std::uint64_t job = MustSubmit(Spec("low", 1, "low"));
  ASSERT_TRUE(agent.WaitLaunch(job));
  agent.Report({Observed(job, 1, 0, v1::ObservedTask::RUNNING, 1)});
  WaitState(job, "running");
  const std::string text = Scrape();
  EXPECT_THAT(text, HasSubstr("glim_jobs{pool=\"default\",state=\"running\"} 1"));
  EXPECT_THAT(text, HasSubstr("glim_nodes{zone=\"A\",state=\"ready\"} 1"));
  EXPECT_THAT(text, HasSubstr("glim_sched_pass_seconds_count"));
  EXPECT_THAT(text, HasSubstr("glim_store_commit_seconds_bucket"));
  EXPECT_THAT(text, HasSubstr("glim_build_info{version=\"0.1.0\"} 1"));
  EXPECT_THAT(text, HasSubstr("glim_interrupts_total{cause=\"preempt\",outcome=\"left_unsaved\"} 0"));
  EXPECT_THAT(text, HasSubstr("glim_tls_refused_total{reason=\"no_certificate\"} "));
  EXPECT_THAT(text, HasSubstr("glim_api_request_seconds_count{method=\"/glim.v1.ClientApi/Submit\"} 1"));

  MustSubmit(Spec("high", 1, "high"));
  const auto order = agent.WaitInterrupt(job, [](const v1::InterruptOrder&) { return true; });
  ASSERT_TRUE(order);
  auto task = Observed(job, 1, 0, v1::ObservedTask::RELEASED, 1);
  task.mutable_ranks(0)->set_acked_agreement(order->interrupt().agreement());
  task.mutable_ranks(0)->set_hold(1);
  task.mutable_ranks(0)->set_leaving(true);
  agent.Report({task});
  WaitState(job, "queued");
  const std::string after = Scrape();
  EXPECT_THAT(after, HasSubstr("glim_interrupts_total{cause=\"preempt\",outcome=\"left_unsaved\"} 1"));
  EXPECT_THAT(after, HasSubstr("glim_interrupt_whole_seconds_count 1"));
  EXPECT_THAT(after, HasSubstr("glim_job_wait_seconds_count{class=\"low\",size=\"1\"} 1"));
  EXPECT_THAT(after, HasSubstr("glim_promises_total{promise=\"grace\",result=\"kept\"} 1"));
}

TEST_F(OperationsTest, MetricsSayWhyJobsWaitAndWhoIsConnected) {
  UseMetrics();
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const std::uint64_t runs = MustSubmit(Spec("runs", 1, "normal"));
  ASSERT_TRUE(agent.WaitLaunch(runs));
  agent.Report({Observed(runs, 1, 0, v1::ObservedTask::RUNNING, 1)});
  WaitState(runs, "running");
  MustSubmit(Spec("waits", 1, "normal"));
  std::string text;
  EXPECT_TRUE(Eventually([&] {
    text = Scrape();
    return text.find("glim_pending_jobs{pool=\"default\",reason=\"nodes_busy\"} 1") != std::string::npos ||
           text.find("glim_pending_jobs{pool=\"default\",reason=\"time_slice\"} 1") != std::string::npos;
  })) << text;
  EXPECT_THAT(text, HasSubstr("glim_agents_connected 1"));
  EXPECT_THAT(text, HasSubstr("glim_gpus{use=\"productive\"} 8"));
  EXPECT_THAT(text, HasSubstr("glim_calls_held{bound=\"agent_streams\"} 1"));
  EXPECT_THAT(text, HasSubstr("glim_node_heartbeat_age_seconds{stat=\"max\"} "));
  EXPECT_THAT(text, HasSubstr("glim_leader 1"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
  EXPECT_THAT(text, HasSubstr("glim_api_answers_total{code=\"ok\"} "));
}

TEST_F(OperationsTest, ASecondSchedulerOnTheSamePortFails) {
  Config second = config_;
  second.listen = "127.0.0.1:" + std::to_string(port());
  second.metrics = "none";
  second.store = "memory";
  const auto server = Server::Start(second, [](const Status&) {});
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().reason(), "BIND_FAILED");
}

TEST_F(OperationsTest, ASecondSchedulerOnTheSameFileFails) {
  Config second = config_;
  second.metrics = "none";
  EXPECT_FALSE(Server::Start(second, [](const Status&) {}).ok());
}

TEST_F(OperationsTest, StreamsAreEndedAtAStop) {
  FakeAgent agent(channel_, MakeHello(server_->cluster_id(), "node-1"));
  ASSERT_TRUE(agent.WaitWelcome());
  const auto begin = std::chrono::steady_clock::now();
  server_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, LongWait()) << "it does not wait for the other side";
  const auto end = agent.WaitEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace glim::server
