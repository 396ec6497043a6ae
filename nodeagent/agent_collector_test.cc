// When an agent asks what may go of jobs' saves; what it does with the answer is in agent_retention_test.cc.
#include "nodeagent/services/save_collector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "nodeagent/testing/fake_scheduler.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/time.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using std::chrono::milliseconds;

// The operator may shorten the pause while the agent waits for the end of a long one.
TEST(SaveCollectorTest, AShorterPauseIsHeardOfBeforeTheLongOneIsOver) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path() + "/checkpoints/40/attempt-1");
  std::ofstream(folder.path() + "/checkpoints/40/attempt-1/shard") << "bytes";
  std::atomic<int> looks = 0, others = 0;
  std::atomic<std::int64_t> every_ms = Hours(24).ms;
  FakeScheduler scheduler;
  scheduler.AnswerSaves([&](const v1::SavesHeld& held, v1::SavesVerdict* verdict) {
    ++(held.held().empty() ? others : looks);
    verdict->set_again_ms(every_ms);
    return grpc::Status::OK;
  });
  boost::asio::io_context io;
  AgentOptions options;
  options.state_dir = folder.path();
  options.shim = BuiltFile("bin/glim-shim");
  const auto stub = v1::AgentApi::NewStub(grpc::CreateChannel(scheduler.address(), grpc::InsecureChannelCredentials()));
  SaveCollectorTimes times;
  times.first = times.ask = milliseconds(10);
  SaveCollector collector(io, options, [&stub] { return stub.get(); }, times,
                          {[](std::uint64_t) { return false; }, [] { return std::uint64_t{0}; }});
  collector.OnWelcome();
  const auto run_until = [&](const std::function<bool()>& check) {
    const auto until = std::chrono::steady_clock::now() + LongWait();
    while (!check() && std::chrono::steady_clock::now() < until) io.run_one_for(milliseconds(20));
    return check();
  };
  EXPECT_TRUE(run_until([&] { return others >= 3; })) << "it asks how long, and walks through no folder for that";
  EXPECT_EQ(looks, 1);
  every_ms = 100;
  EXPECT_TRUE(run_until([&] { return looks >= 3; }));
  scheduler.AnswerSaves(nullptr);
  collector.Stop();
  io.run_for(LongWait());
}

}  // namespace
}  // namespace glim::nodeagent
