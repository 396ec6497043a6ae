// What a task that stands still is doing, and when it last gave a sign of life: asked and told, and the task goes on.
#include <gmock/gmock.h>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Hangs in a lock until the file `go` is there.
constexpr const char* kHangs = R"(exec /usr/bin/python3 -c '
import glim, os, threading, time
run = glim.session()
run.progress(7)
lock = threading.Lock()
lock.acquire()
def open_it():
    while not os.path.exists("go"):
        time.sleep(0.02)
    lock.release()
threading.Thread(target=open_it, daemon=True).start()
def wait_for_peer():
    print("hangs", flush=True)
    lock.acquire()
wait_for_peer()
run.progress(8)
print("goes on", flush=True)
time.sleep(1000)
')";

class AgentEvidenceTest : public AgentTest {
 protected:
  void Start(const std::string& run) {
    StartAgent();
    Launch(kKey, run, [this](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
    Send();
    ASSERT_TRUE(WaitPhase(kKey, kRunning));
  }
  std::string Ask(std::uint32_t question) {
    Listed(kKey).set_evidence(question);
    Send();
    const auto task = WaitTask(kKey, [&](const v1::ObservedTask& t) { return t.evidence().id() == question; });
    EXPECT_TRUE(task) << "no answer";
    return task ? task->evidence().text() : "";
  }
  std::int64_t Activity() {
    const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.activity_at_ms() > 0; });
    return task ? task->activity_at_ms() : 0;
  }
};

TEST_P(AgentEvidenceTest, ATaskWithTheSdkTellsItsPythonStacksAndGoesOn) {
  Start(kHangs);
  ASSERT_TRUE(Eventually([&] { return LogText(kKey, 0).find("hangs") != std::string::npos; }));
  const std::string text = Ask(1);
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0: python3"), HasSubstr("; wait_for_peer, <string>:"),
                          HasSubstr("as Python tells it"), Not(HasSubstr("as gdb finds it"))));
  EXPECT_EQ(LogText(kKey, 0), "hangs\n") << "nothing of it is in the log, where it would be a sign of life";
  const auto kept = ReadFile(state_ + "/logs/7-1/task-0.stacks", 1 << 20);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, text);
  const std::string again = Ask(2);
  EXPECT_THAT(again, HasSubstr("; wait_for_peer, <string>:"));
  Folder("go");
  ASSERT_TRUE(Eventually([&] { return LogText(kKey, 0).find("goes on") != std::string::npos; }));
  EXPECT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.ranks(0).step() == 8; }));
  Listed(kKey).set_evidence(0);
  Send();
  EXPECT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.evidence().text().empty(); }))
      << "an answer that nobody wants is told no more";
}

TEST_P(AgentEvidenceTest, AProgramInAnyLanguageIsLookedAtAndGoesOn) {
  Start("echo begins; exec sleep 1000");
  ASSERT_TRUE(Eventually([&] { return LogText(kKey, 0) == "begins\n"; }));
  std::uint32_t question = 0;
  std::string text;
  EXPECT_TRUE(Eventually([&] {  // it begins with its own start
    text = Ask(++question);
    return text.find("rank 0: sleep") != std::string::npos && text.find("nanosleep") != std::string::npos;
  })) << text;
  EXPECT_THAT(text, HasSubstr("as gdb finds it")) << "in a container, too";
  const std::string second = Ask(++question);
  EXPECT_THAT(second, HasSubstr("rank 0: sleep (pid ")) << "it is there as before";
  EXPECT_THAT(second, HasSubstr(") sleeps"));
}

TEST_P(AgentEvidenceTest, ATaskWhoseProcessesHaveEndedHasNothingToTell) {
  StartAgent();
  Launch(kKey, "exit 0");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(Ask(1), "");
}

TEST_P(AgentEvidenceTest, OutputIsASignOfLifeAndAnAgentThatBeganAnewSaysTheSame) {
  Start("echo one; until [ -e go ]; do sleep 0.02; done; echo two; exec sleep 1000");
  ASSERT_TRUE(Eventually([&] { return LogText(kKey, 0) == "one\n"; }));
  auto three_reports = [&, since = scheduler_.reports()]() mutable {
    const bool came = Eventually([&] { return scheduler_.reports() > since + 2; });
    since = scheduler_.reports();
    return came;
  };
  ASSERT_TRUE(three_reports()) << "the first may have been made before the line was";
  const std::int64_t first = Activity();
  ASSERT_GT(first, 0);
  ASSERT_TRUE(three_reports());
  EXPECT_EQ(Activity(), first) << "time alone is no sign";
  KillAgent();
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(Activity(), first);
  Folder("go");
  EXPECT_TRUE(WaitTask(kKey, [&](const v1::ObservedTask& t) { return t.activity_at_ms() > first; }));
}

// What a rank says of its steps is written down a second later, and that is no second sign.
TEST_P(AgentEvidenceTest, AStepIsASignOfLifeOnce) {
  Start("glim-task progress 7; exec sleep 1000");
  const auto told = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.ranks(0).step() == 7; });
  ASSERT_TRUE(told);
  const auto written = [&] {
    const auto words = ReadFile(TaskPaths(TaskFolder(kKey)).ranks(), 1 << 20);
    return words.ok() && words->find("\"step\":7") != std::string::npos;
  };
  ASSERT_TRUE(Eventually(written));
  const int since = scheduler_.reports();
  ASSERT_TRUE(Eventually([&] { return scheduler_.reports() > since + 2; }));
  EXPECT_EQ(Activity(), told->activity_at_ms());
}

GLIM_FOR_EACH_RUNTIME(AgentEvidenceTest);

}  // namespace
}  // namespace glim::nodeagent
