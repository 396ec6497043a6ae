// The operator's prolog and epilog: around a task's processes, with a deadline, and a failure takes the node out.
#include <filesystem>
#include <sstream>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

class AgentHooksTest : public AgentTest {
 protected:
  // The path of a program that does this; $NOTES is a file of the test's.
  std::string Program(const std::string& name, const std::string& script) const {
    std::string path = folder_ + "/" + name;
    const std::string text = "#!/bin/sh\nNOTES=" + folder_ + "/notes\n: >> $NOTES; chmod a+rw $NOTES\n" + script + "\n";
    EXPECT_TRUE(WriteFileAtomically(path, text, Durability::kProcess).ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string Notes() const {
    const auto text = ReadFile(folder_ + "/notes", 1 << 16);
    return text.ok() ? *text : "";
  }
  std::string WaitNotes(const std::string& text) const {
    (void)Eventually([&] { return Notes() == text; });
    return Notes();
  }
  // A loop of a program's that ends when this file is there.
  std::string Until(const std::string& file) const {
    return "while ! [ -e " + folder_ + "/" + file + " ]; do sleep 0.01; done";
  }
  // What programs wrote of themselves.
  std::vector<pid_t> Pids() const {
    const auto text = ReadFile(folder_ + "/pids", 1 << 16);
    std::istringstream lines(text.ok() ? *text : "");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; lines >> pid;) pids.push_back(pid);
    return pids;
  }
  bool WaitPids(std::size_t count) const {
    return Eventually([&] { return Pids().size() == count; });
  }
  std::string SiteFault() {
    const auto report = scheduler_.WaitReport([](const v1::NodeReport& r) { return !r.site_fault().empty(); });
    return report ? report->site_fault() : "";
  }
  void Order(const TaskKey& key, const std::string& run) {
    Launch(key, run, [this](v1::TaskLaunch& launch) {
      launch.set_user("ana");
      launch.set_workdir(folder_);
    });
    Send();
  }
  const std::string prolog_ = "echo prolog $GLIM_JOB_ID.$GLIM_ATTEMPT $GLIM_USER >> $NOTES";
  const std::string epilog_ = "echo epilog $GLIM_JOB_ID.$GLIM_ATTEMPT $GLIM_USER >> $NOTES";
};

TEST_P(AgentHooksTest, TheyRunBeforeTheFirstProcessAndAfterTheLastOne) {
  StartAgent({"--prolog", Program("prolog", prolog_), "--epilog", Program("epilog", epilog_)});
  Order(kKey, "grep -q prolog notes && echo rank >> notes");
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(WaitNotes("prolog 7.1 ana\nrank\nepilog 7.1 ana\n"), "prolog 7.1 ana\nrank\nepilog 7.1 ana\n");
  EXPECT_EQ(scheduler_.newest().site_fault(), "");
}

TEST_P(AgentHooksTest, AFailingPrologFailsTheStartAndIsToldOfTheNode) {
  StartAgent({"--prolog", Program("prolog", "echo first; echo 'the scratch disk is not mounted' >&2; exit 3"),
              "--epilog", Program("epilog", epilog_)});
  Order(kKey, "echo rank >> notes");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_FALSE(task->job_fault()) << "another node may do better";
  EXPECT_TRUE(task->message().ends_with("of task 7.1.0 exited with code 3: the scratch disk is not mounted"))
      << task->message();
  EXPECT_EQ(SiteFault(), task->message());
  EXPECT_EQ(Notes(), "") << "neither a rank nor an epilog";
  const auto kept = ReadFile(state_ + "/logs/7-1/prolog-0.log", 1 << 16);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, "first\nthe scratch disk is not mounted\n");
}

TEST_P(AgentHooksTest, ALatePrologIsKilledAndFailsTheStart) {
  StartAgent({"--prolog", Program("prolog", "echo waiting; sleep 600"), "--hook-seconds", "1"});
  Order(kKey, "echo rank >> notes");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_TRUE(task->message().ends_with("did not end within 1 s: waiting")) << task->message();
  EXPECT_EQ(SiteFault(), task->message());
}

TEST_P(AgentHooksTest, AFailingEpilogIsToldOfTheNodeAfterTheRelease) {
  StartAgent({"--epilog", Program("epilog", "echo cleaning; echo 'GPU 3 does not answer' >&2; exit 1")});
  Order(kKey, "true");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed());
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_TRUE(SiteFault().ends_with("of task 7.1.0 exited with code 1: GPU 3 does not answer")) << SiteFault();
  const auto kept = ReadFile(state_ + "/logs/7-1/epilog-0.log", 1 << 16);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, "cleaning\nGPU 3 does not answer\n");
}

TEST_P(AgentHooksTest, TheNextAgentRunsAnEpilogThatIsOwed) {
  const std::vector<std::string> options = {"--epilog", Program("epilog", epilog_)};
  StartAgent(options);
  Order(kKey, "while ! [ -e go ]; do sleep 0.01; done");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  KillAgent();
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  StartAgent(options);
  EXPECT_EQ(WaitNotes("epilog 7.1 ana\n"), "epilog 7.1 ana\n");
}

// Its folder is gone by then: nobody waits for an epilog.
TEST_P(AgentHooksTest, AnEpilogThatAnAgentsEndCutsOffIsEndedAndRunsAgain) {
  const std::vector<std::string> options = {
      "--epilog", Program("epilog", "echo epilog $GLIM_JOB_ID >> $NOTES; echo $$ >> " + folder_ + "/pids\n" +
                                        Until("go") + "; echo 'GPU 3 does not answer'; exit 7")};
  StartAgent(options);
  Order(kKey, "true");
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  Unlist(kKey);
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  ASSERT_EQ(WaitNotes("epilog 7\n"), "epilog 7\n");
  ASSERT_TRUE(WaitPids(1));
  KillAgent();
  EXPECT_TRUE(IsRunning(Pids()[0]));
  StartAgent(options);
  ASSERT_EQ(WaitNotes("epilog 7\nepilog 7\n"), "epilog 7\nepilog 7\n");
  ASSERT_TRUE(WaitPids(2));
  EXPECT_FALSE(IsRunning(Pids()[0])) << "never two at once";
  EXPECT_EQ(EndAgent(), 0);
  EXPECT_TRUE(Eventually([&] { return !IsRunning(Pids()[1]); })) << "an agent that ends by itself leaves none";
  StartAgent(options);
  ASSERT_EQ(WaitNotes("epilog 7\nepilog 7\nepilog 7\n"), "epilog 7\nepilog 7\nepilog 7\n");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  EXPECT_TRUE(SiteFault().ends_with("of task 7.1.0 exited with code 7: GPU 3 does not answer")) << SiteFault();
  EXPECT_TRUE(Eventually([&] { return std::filesystem::is_empty(state_ + "/hooks"); })) << "no more is owed";
}

TEST_P(AgentHooksTest, APrologThatAnAgentsEndCutsOffIsEndedAndTheTaskBeginsAnew) {
  const std::vector<std::string> options = {
      "--prolog", Program("prolog", "echo prolog >> $NOTES; echo $$ >> " + folder_ + "/pids\n" + Until("go"))};
  StartAgent(options);
  Order(kKey, "echo rank >> notes; exit 3");
  ASSERT_TRUE(WaitPhase(kKey, v1::ObservedTask::STARTING));
  Listed(kKey).clear_launch();  // the scheduler has heard of the task
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; }));
  ASSERT_TRUE(WaitPids(1));
  KillAgent();
  StartAgent(options);
  ASSERT_TRUE(WaitPids(2));
  EXPECT_FALSE(IsRunning(Pids()[0])) << "never two at once";
  EXPECT_EQ(EndAgent(), 0);
  StartAgent(options);
  ASSERT_TRUE(WaitPids(3));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed()) << task->message();
  EXPECT_EQ(task->exit_code(), 3);
  EXPECT_EQ(Notes(), "prolog\nprolog\nprolog\nrank\n");
}

// With an order to stop there is nothing to begin anew; the release waits for the prolog's end all the same.
TEST_P(AgentHooksTest, AStoppedTaskIsReleasedWhenTheCutOffPrologIsGone) {
  const std::vector<std::string> options = {"--prolog",
                                            Program("prolog", "echo $$ >> " + folder_ + "/pids\n" + Until("go"))};
  StartAgent(options);
  Order(kKey, "true");
  ASSERT_TRUE(WaitPids(1));
  Stop(kKey, Slower(Seconds(3)).ms);  // not over before the agent is killed
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; }));
  KillAgent();
  EXPECT_TRUE(IsRunning(Pids()[0]));
  StartAgent(options);
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_FALSE(IsRunning(Pids()[0]));
}

GLIM_FOR_EACH_RUNTIME(AgentHooksTest);

}  // namespace
}  // namespace glim::nodeagent
