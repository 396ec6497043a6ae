// A real server in a folder of its own, and what tests ask of it. Waits are for conditions, with a bound.
//
// Without identity: callers are who they say. For a server with TLS and tokens see testing/identity_server.h.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/agent_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"
#include "scheduler/server/server.h"
#include "sdk/base/testing/waits.h"

namespace glim::server {

v1::ErrorDetail DetailOf(const grpc::Status& status);

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Before the server starts: what the test wants otherwise. Without a word from it there is no TLS and no token.
  virtual void Configure() {}
  virtual std::shared_ptr<grpc::ChannelCredentials> Credentials() const { return grpc::InsecureChannelCredentials(); }
  void StartServer();
  void RestartServer();
  int port() const { return server_->port(); }

  v1::JobSpec Spec(const std::string& name, std::uint32_t nodes = 1, const std::string& priority = "normal");
  grpc::Status Submit(const v1::SubmitRequest& request, v1::SubmitResponse* response, const std::string& user = "kim");
  std::uint64_t MustSubmit(const v1::JobSpec& spec, const std::string& user = "kim");
  v1::Job GetJob(std::uint64_t id);
  // The job once it satisfies the condition; fails the test if it never does.
  v1::Job WaitJob(std::uint64_t id, const std::function<bool(const v1::Job&)>& condition, const std::string& what);
  v1::Job WaitState(std::uint64_t id, const std::string& state);
  v1::ListJobsResponse List(const v1::ListJobsRequest& request);
  v1::Node GetNode(const std::string& name);
  static void SetUser(grpc::ClientContext* context, const std::string& user = "kim");

  Config config_;
  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ClientApi::Stub> client_;
  std::unique_ptr<v1::AdminApi::Stub> admin_;
};

}  // namespace glim::server
