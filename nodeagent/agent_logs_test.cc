#include <chrono>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr TaskKey kSecond{7, 2, 0};

class AgentLogsTest : public AgentTest {
 protected:
  std::optional<v1::LogChunk> Read(std::uint32_t rank, std::int64_t offset, std::int64_t wait_ms = 0,
                                   std::uint32_t bytes_max = 0, std::uint32_t attempt = 2) {
    v1::LogRequest request;
    request.mutable_attempt()->set_job_id(7);
    request.mutable_attempt()->set_number(attempt);
    request.set_rank(rank);
    request.set_offset(offset);
    request.set_wait_ms(wait_ms);
    request.set_bytes_max(bytes_max);
    return scheduler_.Fetch(request);
  }
};

TEST_P(AgentLogsTest, FollowsALogToItsEnd) {
  StartAgent();
  Launch(kSecond, "echo one; while ! [ -e go ]; do sleep 0.01; done; echo two",
         [this](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kSecond, kRunning));
  EXPECT_EQ(scheduler_.introduction().node_name(), "node-1");
  EXPECT_EQ(scheduler_.introduction().cluster_id(), "test");
  auto chunk = Read(0, 0, 10'000);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->data(), "one\n");
  EXPECT_FALSE(chunk->ended());
  chunk = Read(0, 4, 100);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->data(), "") << "nothing new within the wait";
  EXPECT_EQ(chunk->offset(), 4);
  EXPECT_FALSE(chunk->ended());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  std::string rest;
  for (bool ended = false; !ended;) {
    // Longer than the test waits for an answer: it has to be woken.
    chunk = Read(0, 4 + static_cast<std::int64_t>(rest.size()), 2 * LongWaitMs());
    ASSERT_TRUE(chunk);
    rest += chunk->data();
    ended = chunk->ended();
  }
  EXPECT_EQ(rest, "two\n");
  chunk = Read(0, 1, 0, 2);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->data(), "ne");
  EXPECT_EQ(chunk->offset(), 1);
  EXPECT_FALSE(chunk->ended()) << "there is more";
}

TEST_P(AgentLogsTest, OffsetsHoldAcrossRotationAndTheAgentsRestart) {
  StartAgent({"--log-file-bytes", "4096", "--log-files", "3"});
  Launch(kSecond, "for i in $(seq 1000 3999); do echo line $i; done; sleep 1000");  // 10 bytes a line, 30,000 in all
  Send();
  ASSERT_TRUE(Eventually([&] { return LogText(kSecond, 0).find("line 3999") != std::string::npos; }));
  KillAgent();
  StartAgent({"--log-file-bytes", "4096", "--log-files", "3"});
  auto chunk = Read(0, 29'990, 1000);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->data(), "line 3999\n");
  EXPECT_EQ(chunk->offset(), 29'990);
  EXPECT_FALSE(chunk->ended());
  chunk = Read(0, 0);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->offset(), 20'480) << "the oldest byte of three files of 4096, the newest being the eighth";
  EXPECT_EQ(chunk->data().substr(0, 10), "line 3048\n");
  EXPECT_EQ(chunk->offset() + static_cast<std::int64_t>(chunk->data().size()), 30'000);
}

TEST_P(AgentLogsTest, UnknownOnesAreRefusedAndFinishedOnesStay) {
  StartAgent();
  Launch(kSecond, "echo here");
  Send();
  ASSERT_TRUE(WaitPhase(kSecond, kReleased));
  Unlist(kSecond);
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  auto chunk = Read(0, 0, 5000);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->data(), "here\n");
  EXPECT_TRUE(chunk->ended());
  EXPECT_TRUE(chunk->error().empty());
  chunk = Read(3, 0, 5000);
  ASSERT_TRUE(chunk);
  EXPECT_NE(chunk->error().find("no log of rank 3 of attempt 7.2"), std::string::npos) << chunk->error();
  chunk = Read(0, 0, 5000, 0, 9);
  ASSERT_TRUE(chunk);
  EXPECT_NE(chunk->error().find("attempt 7.9"), std::string::npos) << chunk->error();
}

TEST_P(AgentLogsTest, LinesAreFoundInTheLogsOfAllItsRanksAlsoInRotatedOnes) {
  StartAgent({"--log-file-bytes", "4096", "--log-files", "3"});
  Launch(kSecond, "for i in $(seq 1000 3999); do echo line $i; done; sleep 1000");
  Send();
  ASSERT_TRUE(Eventually([&] { return LogText(kSecond, 0).find("line 3999") != std::string::npos; }));
  v1::LogRequest request;
  request.mutable_attempt()->set_job_id(7);
  request.mutable_attempt()->set_number(2);
  request.set_offset(-1);
  request.set_wait_ms(5000);
  request.mutable_search()->set_word("99");
  request.mutable_search()->set_lines_max(5);
  auto chunk = scheduler_.Fetch(request);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->error(), "");
  ASSERT_EQ(chunk->findings().lines_size(), 5);
  EXPECT_EQ(chunk->findings().lines(0).text(), "line 3099") << "what rotation has kept";
  EXPECT_EQ(chunk->findings().lines(0).offset(), 20'990);
  EXPECT_FALSE(chunk->findings().done());
  request.set_offset(chunk->findings().next_offset());
  chunk = scheduler_.Fetch(request);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->findings().lines(0).text(), "line 3599");
  request.set_offset(-1);
  request.mutable_search()->set_newest_first(true);
  request.mutable_search()->set_word("LINE 3500");
  request.mutable_search()->set_ignore_case(true);
  request.set_ranks(2);
  chunk = scheduler_.Fetch(request);
  ASSERT_TRUE(chunk);
  ASSERT_EQ(chunk->findings().lines_size(), 1);
  EXPECT_TRUE(chunk->findings().missing()) << "there is no rank 1";
  EXPECT_EQ(chunk->findings().next_rank(), 1u);
  request.mutable_search()->set_word("");
  chunk = scheduler_.Fetch(request);
  ASSERT_TRUE(chunk);
  EXPECT_NE(chunk->error().find("word"), std::string::npos) << chunk->error();
}

TEST_P(AgentLogsTest, AQuietTaskIsWaitedFor) {
  StartAgent();
  Launch(kSecond, "while ! [ -e go ]; do sleep 0.01; done; head -c 200000 /dev/zero | tr '\\0' x; sleep 1000",
         [this](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kSecond, kRunning));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  std::string all;
  while (all.size() < 200'000) {
    const auto chunk = Read(0, static_cast<std::int64_t>(all.size()), 10'000, 1 << 20);
    ASSERT_TRUE(chunk);
    ASSERT_FALSE(chunk->data().empty());
    EXPECT_LE(chunk->data().size(), 64u * 1024);
    all += chunk->data();
  }
  EXPECT_EQ(all, std::string(200'000, 'x'));
}

GLIM_FOR_EACH_RUNTIME(AgentLogsTest);

}  // namespace
}  // namespace glim::nodeagent
