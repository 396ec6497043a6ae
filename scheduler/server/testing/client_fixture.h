// A server with one node's agent, for tests of what clients ask.
#pragma once

#include <memory>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {

class ClientApiTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    agent_ = std::make_unique<FakeAgent>(channel_, MakeHello(server_->cluster_id(), "node-1"));
    ASSERT_TRUE(agent_->WaitWelcome());
  }
  void TearDown() override {
    agent_.reset();
    ServerTest::TearDown();
  }
  grpc::Status SubmitOne(const v1::JobSpec& spec) {
    v1::SubmitRequest request;
    *request.add_specs() = spec;
    v1::SubmitResponse response;
    return Submit(request, &response);
  }
  std::unique_ptr<FakeAgent> agent_;
};

}  // namespace glim::server
