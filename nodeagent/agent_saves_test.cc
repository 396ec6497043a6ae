#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nodeagent/saves/testing/saves.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kLocal = "attempt-1/step-42";

// The agent is node-1; the save lies on node-9, whose SaveApi is a real one in the test itself.
class AgentSavesTest : public AgentTest {
 protected:
  void SetUp() override {
    there_.Write(std::string(kLocal) + "/shard", "the save");
    there_.Serve();
  }
  std::string Here(const std::string& path) const { return state_ + "/checkpoints/7/" + path; }
  static void SetEnv(v1::TaskLaunch& launch, const std::string& name, const std::string& value) {
    v1::EnvVar* var = launch.add_env();
    var->set_name(name);
    var->set_value(value);
  }
  v1::DesiredTask& LaunchFrom(const std::vector<SaveSource>& sources, const std::string& run) {
    return Launch(kKey, run, [&](v1::TaskLaunch& launch) {
      SetEnv(launch, "GLIM_RESUME_STEP", "42");
      launch.mutable_base()->set_local(kLocal);
      launch.mutable_base()->set_bytes(8);
      for (const SaveSource& source : sources) {
        v1::SaveSource* out = launch.mutable_base()->add_sources();
        out->set_node(source.node);
        out->set_address(source.address);
        out->set_token(source.token);
      }
    });
  }
  SaveSource There() const { return there_.SourceFor(kLocal, "node-1"); }
  // It sends one byte, and then nothing.
  ScriptedSource& Stalled() {
    if (!stalled_) {
      stalled_ = std::make_unique<ScriptedSource>(std::vector{FileChunk("a", 4), DataChunk("1")});
      stalled_->hang = true;
    }
    return *stalled_;
  }
  std::string AgentLog() const {
    const auto text = ReadFile(folder_ + "/agent.log", 1 << 20);
    return text.ok() ? *text : "";
  }

  TestNode there_{"node-9"};
  std::unique_ptr<ScriptedSource> stalled_;
};

TEST_P(AgentSavesTest, ATaskStartsWhenItsSaveHasBeenCopied) {
  StartAgent();
  LaunchFrom({There()},
             "echo \"$GLIM_RESUME_PATH $GLIM_CHECKPOINT_LOCAL\"; cat \"$GLIM_RESUME_PATH/shard\"; echo;"
             "rm \"$GLIM_RESUME_PATH/shard\" && echo mine");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_EQ(task->copied_bytes(), 8);
  EXPECT_GT(task->copy_ms(), 0);
  EXPECT_FALSE(task->save_missing());
  EXPECT_EQ(LogText(kKey, 0), Here(kLocal) + " 1\nthe save\nmine\n");
}

// Plain processes are the agent's own user.
class AgentSavesContainerTest : public AgentSavesTest {};

TEST_P(AgentSavesContainerTest, TheTasksUserOwnsTheCopy) {
  StartAgent({"--task-user", "12345:54321"});
  LaunchFrom({There()}, "id -u; stat -c %u \"$GLIM_RESUME_PATH\" \"$GLIM_RESUME_PATH/shard\" \"$GLIM_CHECKPOINT_DIR\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "12345\n12345\n12345\n12345\n");
}

TEST_P(AgentSavesTest, ASaveThatIsHereIsNotCopied) {
  std::filesystem::create_directories(Here(kLocal));
  std::filesystem::permissions(state_, std::filesystem::perms::owner_all);  // as the agent makes it
  StartAgent();
  LaunchFrom({}, "echo \"$GLIM_RESUME_PATH\"");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->copied_bytes(), 0);
  EXPECT_EQ(task->copy_ms(), 0);
  EXPECT_EQ(LogText(kKey, 0), Here(kLocal) + "\n");
}

TEST_P(AgentSavesTest, ASaveThatCannotBeHadIsNamed) {
  StartAgent();
  SaveSource wrong = There();
  wrong.token = std::string(64, '0');
  LaunchFrom({{"node-8", "127.0.0.1:1", "x"}, wrong}, "echo never");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_TRUE(task->save_missing());
  const std::string begin =
      "node node-1: save attempt-1/step-42 of job 7 could not be copied: node node-8 (127.0.0.1:1): ";
  EXPECT_EQ(task->message().substr(0, begin.size()), begin);
  EXPECT_NE(task->message().find("node node-9 does not take the token"), std::string::npos) << task->message();
  EXPECT_EQ(LogText(kKey, 0), "");
}

TEST_P(AgentSavesTest, ItIsStartingWhileItsSaveIsCopiedAndAStopEndsThat) {
  StartAgent();
  LaunchFrom({Stalled().source()}, "echo never");
  Send();
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.copied_bytes() == 1; });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->phase(), v1::ObservedTask::STARTING);
  // The scheduler, which has heard of it, sends its launch no more.
  Listed(kKey).clear_launch();
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; }));
  EXPECT_EQ(FindTask(scheduler_.newest(), kKey)->phase(), v1::ObservedTask::STARTING);
  Stop(kKey, 2 * LongWaitMs());  // longer than the test waits: the copy does not use its time up
  Send();
  const auto stopped = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(stopped);
  EXPECT_FALSE(stopped->start_failed()) << "its node is not to blame";
  EXPECT_FALSE(stopped->save_missing());
  EXPECT_EQ(stopped->exit_code(), 143);
  EXPECT_EQ(LogText(kKey, 0), "");
  EXPECT_FALSE(std::filesystem::exists(Here(kLocal)));
  Unlist(kKey);
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; })) << "forgotten";
}

TEST_P(AgentSavesTest, ItsStartDoesNotNeedItsLaunchAnyMore) {
  there_.Write(std::string(kLocal) + "/large", Bytes(64 << 20));
  StartAgent();
  LaunchFrom({There()}, "echo started");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask&) { return true; }));
  Listed(kKey).clear_launch();
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost());
  EXPECT_EQ(LogText(kKey, 0), "started\n");
}

TEST_P(AgentSavesTest, WhatIsUnlistedBeforeItsStartIsNeverStarted) {
  StartAgent();
  LaunchFrom({Stalled().source()}, "echo never");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.copied_bytes() == 1; }));
  Unlist(kKey);
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  EXPECT_EQ(LogText(kKey, 0), "");
}

TEST_P(AgentSavesTest, AnAgentThatIsKilledInMidCopyStartsNothingWithoutItsSave) {
  StartAgent();
  LaunchFrom({Stalled().source()}, "echo never");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.copied_bytes() == 1; }));
  KillAgent();
  Listed(kKey).clear_launch();
  Send();
  StartAgent();
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.lost(); });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->phase(), kReleased);
  EXPECT_EQ(LogText(kKey, 0), "");
  for (const auto& entry : std::filesystem::directory_iterator(state_ + "/checkpoints")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".copy-")) << "half a copy is left";
  }
}

TEST_P(AgentSavesTest, AndStartsItOnceIfTheSchedulerStillWantsIt) {
  StartAgent();
  LaunchFrom({Stalled().source()}, "cat \"$GLIM_RESUME_PATH/shard\"; echo; echo once");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask& t) { return t.copied_bytes() == 1; }));
  KillAgent();
  v1::SaveSource& source = *Listed(kKey).mutable_launch()->mutable_base()->mutable_sources(0);
  source.set_address(There().address);
  source.set_token(There().token);
  Send();
  StartAgent();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->lost());
  EXPECT_EQ(LogText(kKey, 0), "the save\nonce\n");
}

TEST_P(AgentSavesTest, AnInterruptDuringTheCopyIsToldToTheTask) {
  there_.Write(std::string(kLocal) + "/large", Bytes(64 << 20));
  StartAgent();
  LaunchFrom({There()}, "until glim-task interrupted; do sleep 0.02; done; echo flagged");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const v1::ObservedTask&) { return true; }));
  v1::InterruptOrder& order = *Listed(kKey).mutable_interrupt();
  order.set_agreement(1);
  order.set_reason("test");
  order.set_grace_left_ms(600'000);
  order.set_stop_step(-1);
  Send();
  EXPECT_EQ(WaitLine(kKey, 0, "flagged"), "");
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
}

TEST_P(AgentSavesTest, ASaveByPathAloneHasToBeSeen) {
  StartAgent();
  const std::string seen = folder_ + "/save";
  std::ofstream(seen) << "x";
  struct Case {
    std::string path, sources;
    bool starts;
  };
  const Case cases[] = {{"/nowhere/save", "", false},
                        {seen, "", true},
                        {"s3://bucket/save", "", true},
                        {"", "", true},
                        {"/nowhere/save", "10.0.0.1:7011", true}};
  std::uint64_t job = 30;
  for (const Case& c : cases) {
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo ran", [&](v1::TaskLaunch& launch) {
      SetEnv(launch, "GLIM_RESUME_PATH", c.path);
      if (!c.sources.empty()) SetEnv(launch, "GLIM_REPLICA_SOURCES", c.sources);
    });
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_EQ(LogText(key, 0), c.starts ? "ran\n" : "") << c.path;
    EXPECT_EQ(task->start_failed(), !c.starts);
    EXPECT_EQ(task->save_missing(), !c.starts);
    if (c.starts) continue;
    EXPECT_EQ(task->message(),
              "node node-1: its save /nowhere/save cannot be seen on this node: No such file or directory");
  }
}

TEST_P(AgentSavesTest, ReportedSavesOfItsOwnFolderAreNamedByTheirPlaceInIt) {
  StartAgent();
  Launch(kKey,
         "mkdir -p \"$GLIM_CHECKPOINT_DIR/attempt-1/step-3\";"
         "for p in \"$GLIM_CHECKPOINT_DIR/attempt-1/./step-3/\" /tmp \"$GLIM_CHECKPOINT_DIR/..\";"
         "do s=$((s+1)); glim-task saved --step $s --path \"$p\"; done; sleep 1000");
  Launch({8, 1, 0},
         "mkdir \"$GLIM_CHECKPOINT_DIR/s\"; glim-task saved --step 1 --path \"$GLIM_CHECKPOINT_DIR/s\";"
         "sleep 1000",
         [&](v1::TaskLaunch& launch) { launch.set_checkpoint_dir(folder_); });
  Send();
  const auto task =
      WaitTask(kKey, [](const v1::ObservedTask& t) { return t.ranks_size() == 1 && t.ranks(0).saves_size() == 3; });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks(0).saves(0).local(), "attempt-1/step-3");
  EXPECT_EQ(task->ranks(0).saves(1).local(), "");
  EXPECT_EQ(task->ranks(0).saves(2).local(), "");
  const auto shared = WaitTask(
      {8, 1, 0}, [](const v1::ObservedTask& t) { return t.ranks_size() == 1 && t.ranks(0).saves_size() == 1; });
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->ranks(0).saves(0).local(), "") << "its folder is not the node's own";
}

TEST_P(AgentSavesTest, GivesItsSavesToWhoeverHasAToken) {
  StartAgent();
  Launch(kKey, "mkdir -p \"$GLIM_CHECKPOINT_DIR/attempt-1\"; echo x > \"$GLIM_CHECKPOINT_DIR/attempt-1/s\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  const v1::Hello hello = scheduler_.last_hello();
  EXPECT_EQ(hello.save_address().substr(0, 10), "127.0.0.1:");
  ASSERT_EQ(hello.save_key().size(), kSaveKeyDigits);
  EXPECT_EQ(AgentLog().find(hello.save_key()), std::string::npos) << "a secret";
  CopyPlace place;
  place.state_dir = there_.state();
  place.node = "node-9";
  CopyProgress progress;
  CopyOrder order{7, "attempt-1/s", "step 1", {}, false};
  order.sources = {{"node-1", hello.save_address(), FetchToken(hello.save_key(), 7, "attempt-1/s", "node-9")}};
  const Status status = CopySave(place, order, progress);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(there_.Read("attempt-1/s"), "x\n");
}

TEST_P(AgentSavesTest, WhereSavesAreGivenIsTheOperatorsToSay) {
  StartAgent({"--saves-listen", "none"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(scheduler_.last_hello().save_address(), "");
  EXPECT_EQ(scheduler_.last_hello().save_key(), "");
  EXPECT_EQ(EndAgent(), 0);
  StartAgent({"--saves-listen", "0.0.0.0:0"});
  EXPECT_EQ(AwaitAgent(), 2);
  EXPECT_NE(AgentLog().find("--saves-listen \"0.0.0.0:0\" is no address"), std::string::npos);
}

// A task of the node may be that, which listens there while the agent is started anew.
TEST_P(AgentSavesTest, WhoHasItsPortKeepsItFromGivingSavesAndFromNothingElse) {
  const std::string taken = there_.server().address();
  StartAgent({"--saves-listen", taken});
  const auto faulty = [](const v1::NodeReport& report) { return report.faults_size() == 1; };
  const auto report = scheduler_.WaitReport(faulty);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->faults(0).kind(), "saves_port");
  EXPECT_NE(report->faults(0).message().find("cannot listen on " + taken), std::string::npos);
  EXPECT_NE(AgentLog().find("event=node_fault kind=saves_port"), std::string::npos);
  EXPECT_EQ(scheduler_.last_hello().save_address(), "") << "whoever has the port gets no tokens";
  Launch(kKey, "echo runs");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "runs\n");
  const int hellos = scheduler_.hellos();

  there_.Die();
  ASSERT_TRUE(scheduler_.WaitHello(hellos + 1));
  EXPECT_EQ(scheduler_.last_hello().save_address(), taken);
  EXPECT_NE(scheduler_.last_hello().save_key(), "");
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& now) { return now.faults_size() == 0; }));
}

TEST_P(AgentSavesTest, TellsWhatItSeesOfTheCheckpointRoot) {
  const std::string root = folder_ + "/root";
  scheduler_.NameRoot(root, ".glim-root");
  StartAgent();
  const auto missing = scheduler_.WaitReport([](const v1::NodeReport& r) { return r.has_root(); });
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->root().root(), root);
  EXPECT_EQ(missing->root().error(), "cannot open " + root + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(root)) << "it is never made";
  std::filesystem::create_directory(root);
  scheduler_.Disconnect();  // a new Welcome: it looks again
  const auto seen = scheduler_.WaitReport([](const v1::NodeReport& r) { return !r.root().marker().empty(); });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->root().error(), "");
  EXPECT_EQ(*ReadFile(root + "/.glim-root", 100), seen->root().marker() + "\n");
  scheduler_.NameRoot("", "");
  scheduler_.Disconnect();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return !r.has_root(); }));
}

GLIM_FOR_EACH_RUNTIME(AgentSavesTest);
GLIM_IN_CONTAINERS(AgentSavesContainerTest);

}  // namespace
}  // namespace glim::nodeagent
