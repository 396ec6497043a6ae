// Reverse calls for logs: one user does not take all that a node answers at a time.
#include "scheduler/server/agents/log_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace glim::server {
namespace {

// An agent that answers nothing.
struct MuteSink final : LogSink {
  void Send(const v1::LogRequest& request) override { asked.push_back(request.id()); }
  void End(const grpc::Status&) override {}
  std::vector<std::uint64_t> asked;
};

TEST(LogBroker, AUserDoesNotTakeAllOfANodesLogs) {
  AgentStrand strand;
  LogBroker broker(&strand);
  const core::NodeId node(1);
  const auto sink = std::make_shared<MuteSink>();
  std::promise<Status> told;
  std::promise<void> asked;
  strand.Post([&] {
    broker.Attach(node, sink);
    for (int i = 0; i < 16; ++i) broker.Fetch(node, "flood", {}, [](const Result<v1::LogChunk>&) {});
    broker.Fetch(node, "flood", {}, [&](const Result<v1::LogChunk>& result) { told.set_value(result.status()); });
    broker.Fetch(node, "kim", {}, [](const Result<v1::LogChunk>&) {});
    asked.set_value();
  });
  asked.get_future().wait();
  const Status refused = told.get_future().get();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "LOG_BUSY");
  EXPECT_THAT(refused.message(),
              ::testing::HasSubstr("user flood reads as many logs from this node as a user may: 16"));
  EXPECT_THAT(refused.fix(), ::testing::HasSubstr("try again in"));
  EXPECT_EQ(sink->asked.size(), 17u) << "kim is served";
  // What is answered makes room again.
  std::promise<std::size_t> again;
  strand.Post([&] {
    v1::LogChunk chunk;
    chunk.set_id(sink->asked.front());
    broker.Answer(node, std::move(chunk));
    broker.Fetch(node, "flood", {}, [](const Result<v1::LogChunk>&) {});
    again.set_value(sink->asked.size());
    broker.Detach(node, sink.get());
  });
  EXPECT_EQ(again.get_future().get(), 18u);
  strand.Stop();
}

}  // namespace
}  // namespace glim::server
