#include "scheduler/server/testing/test_server.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>

#include "sdk/io/testing/remove_until_gone.h"

namespace glim::server {

v1::ErrorDetail DetailOf(const grpc::Status& status) {
  v1::ErrorDetail detail;
  EXPECT_TRUE(detail.ParseFromString(status.error_details()));
  return detail;
}

void ServerTest::SetUp() {
  spdlog::set_level(spdlog::level::off);
  std::string pattern = (std::filesystem::temp_directory_path() / "glim-server-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
  config_.listen = "127.0.0.1:0";
  config_.metrics = "none";
  config_.store = "sqlite:" + (folder_ / "glim.db").string();
  config_.policy.min_run_factor = 0;  // interrupts at once
  config_.policy.start_backoff = Milliseconds(10);
  config_.insecure_without_identity = true;
  config_.key_file = (folder_ / "cluster.key").string();
  Configure();
  StartServer();
}

void ServerTest::TearDown() {
  server_.reset();
  EXPECT_TRUE(RemoveUntilGone(folder_)) << folder_;
}

void ServerTest::StartServer() {
  auto server = Server::Start(config_, [](const Status& status) { ADD_FAILURE() << status.message(); });
  ASSERT_TRUE(server.ok()) << server.status().message();
  server_ = std::move(server).value();
  channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(port()), Credentials());
  client_ = v1::ClientApi::NewStub(channel_);
  admin_ = v1::AdminApi::NewStub(channel_);
}

void ServerTest::RestartServer() {
  server_.reset();
  StartServer();
}

v1::JobSpec ServerTest::Spec(const std::string& name, std::uint32_t nodes, const std::string& priority) {
  v1::JobSpec spec;
  spec.set_name(name);
  spec.set_priority(priority);
  spec.set_nodes(nodes);
  spec.set_gpus_per_node(8);
  spec.set_workdir("/tmp");
  spec.set_run("python train.py");
  return spec;
}

void ServerTest::SetUser(grpc::ClientContext* context, const std::string& user) {
  context->AddMetadata("glim-user", user);
  context->set_deadline(std::chrono::system_clock::now() + LongWait());
}

grpc::Status ServerTest::Submit(const v1::SubmitRequest& request, v1::SubmitResponse* response,
                                const std::string& user) {
  grpc::ClientContext context;
  SetUser(&context, user);
  return client_->Submit(&context, request, response);
}

std::uint64_t ServerTest::MustSubmit(const v1::JobSpec& spec, const std::string& user) {
  v1::SubmitRequest request;
  *request.add_specs() = spec;
  v1::SubmitResponse response;
  const grpc::Status status = Submit(request, &response, user);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job_ids_size() == 1 ? response.job_ids(0) : 0;
}

v1::Job ServerTest::GetJob(std::uint64_t id) {
  grpc::ClientContext context;
  SetUser(&context);
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::GetJobResponse response;
  const grpc::Status status = client_->GetJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job();
}

v1::Job ServerTest::WaitJob(std::uint64_t id, const std::function<bool(const v1::Job&)>& condition,
                            const std::string& what) {
  v1::Job job;
  EXPECT_TRUE(Eventually([&] {
    job = GetJob(id);
    return condition(job);
  })) << "job "
      << id << " never came to: " << what << "\n"
      << job.DebugString();
  return job;
}

v1::Job ServerTest::WaitState(std::uint64_t id, const std::string& state) {
  return WaitJob(
      id, [&](const v1::Job& job) { return job.state() == state; }, state);
}

v1::ListJobsResponse ServerTest::List(const v1::ListJobsRequest& request) {
  grpc::ClientContext context;
  SetUser(&context);
  v1::ListJobsResponse response;
  const grpc::Status status = client_->ListJobs(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::Node ServerTest::GetNode(const std::string& name) {
  grpc::ClientContext context;
  SetUser(&context);
  v1::ListNodesRequest request;
  request.set_name(name);
  v1::ListNodesResponse response;
  EXPECT_TRUE(client_->ListNodes(&context, request, &response).ok());
  for (const auto& node : response.nodes()) {
    if (node.name() == name) return node;
  }
  return {};
}

}  // namespace glim::server
