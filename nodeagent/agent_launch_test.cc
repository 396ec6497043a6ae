#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

class AgentLaunchTest : public AgentTest {};

TEST_P(AgentLaunchTest, IntroducesItself) {
  StartAgent({"--gpus", "8", "--simulated-gpus", "--zone", "z2", "--pool", "a100", "--gpu-type", "a100"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const v1::Hello hello = scheduler_.last_hello();
  EXPECT_EQ(hello.protocol_version(), 1u);
  EXPECT_EQ(hello.newest_protocol_version(), 1u);
  EXPECT_EQ(hello.cluster_id(), "test");
  EXPECT_EQ(hello.node_name(), "node-1");
  EXPECT_FALSE(hello.machine_id().empty());
  EXPECT_FALSE(hello.boot_id().empty());
  EXPECT_EQ(hello.labels().gpu_count(), 8u);
  EXPECT_TRUE(hello.labels().simulated_gpus());
  EXPECT_EQ(hello.labels().zone(), "z2");
  EXPECT_EQ(hello.labels().pool(), "a100");
  EXPECT_THAT(hello.defaults(), ::testing::ElementsAre("leaf", "nvlink", "nic", "address")) << "nobody said these";
  EXPECT_EQ(hello.runtime(), GetParam());
  EXPECT_EQ(hello.epoch(), 0u);
}

// The gang is in files beside the variables, and there alone where it is large.
TEST_P(AgentLaunchTest, ATaskFindsItsGangInFiles) {
  StartAgent();
  const auto show = [](v1::TaskLaunch& launch) {
    v1::EnvVar& hosts = *launch.add_env();
    hosts.set_name("GLIM_HOSTS");
    hosts.set_value("10.0.0.1,10.0.0.2");
    launch.set_zones("A,B");
  };
  Launch(kKey, "cat $GLIM_HOSTS_FILE; echo -; cat $GLIM_ZONES_FILE; echo $GLIM_HOSTS", show);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_EQ(LogText(kKey, 0), "10.0.0.1\n10.0.0.2\n-\nA\nB\n10.0.0.1,10.0.0.2\n");
}

TEST_P(AgentLaunchTest, RunsAndReportsToTheEnd) {
  StartAgent();
  Launch(kKey, "echo hello; echo there >&2");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_FALSE(task->start_failed());
  EXPECT_FALSE(task->lost());
  EXPECT_GT(task->first_output_ms(), 1'600'000'000'000);
  ASSERT_EQ(task->ranks_size(), 1);
  EXPECT_TRUE(task->ranks(0).exited());
  EXPECT_EQ(task->ranks(0).step(), -1);
  EXPECT_EQ(LogText(kKey, 0), "hello\nthere\n");
  EXPECT_EQ(scheduler_.newest().epoch(), 1u);
  EXPECT_EQ(scheduler_.newest().revision(), 1u);
}

TEST_P(AgentLaunchTest, EachRankOfPerGpuHasItsEnvironment) {
  ::setenv("GLIM_TEST_SECRET", "leaked", 1);
  StartAgent();
  ::unsetenv("GLIM_TEST_SECRET");
  Launch(kKey,
         "echo \"$RANK $LOCAL_RANK $WORLD_SIZE $GLIM_RANK $GLIM_TASK $FOO [$GLIM_TEST_SECRET]\";"
         "echo \"$GLIM_SOCKET\"; ls -d \"$GLIM_CHECKPOINT_DIR\"; echo stdin $(wc -c);"
         "echo fds $(ls /proc/self/fd | wc -l); pwd",
         [](v1::TaskLaunch& launch) {
           launch.set_ranks(2);
           launch.set_first_rank(6);
           launch.set_per_gpu(true);
           for (const auto& [name, value] : {std::pair("FOO", "a b"), std::pair("WORLD_SIZE", "8")}) {
             launch.add_env()->set_name(name);
             launch.mutable_env(launch.env_size() - 1)->set_value(value);
           }
         });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  ASSERT_EQ(task->ranks_size(), 2);
  EXPECT_EQ(task->ranks(0).rank(), 6u);
  for (int i = 0; i < 2; ++i) {
    const std::string rank = std::to_string(6 + i);
    std::ostringstream expected;
    // ls sees 0, 1, 2 and the folder that it reads.
    expected << rank << " " << i << " 8 " << rank << " 7.1.0 a b []\n"
             << TaskFolder(kKey) << "/run/socket\n"
             << state_ << "/checkpoints/7\nstdin 0\nfds 4\n/tmp\n";
    EXPECT_EQ(LogText(kKey, static_cast<std::uint32_t>(6 + i)), expected.str());
  }
}

TEST_P(AgentLaunchTest, TellsTasksOfItsNetworkCard) {
  StartAgent({"--hfreduce-device", "mlx5_0:1", "--hfreduce-service-level", "0"});
  Launch(kKey, "echo \"$GLIM_HFREDUCE_DEVICE $GLIM_HFREDUCE_SERVICE_LEVEL\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "mlx5_0:1 0\n");
}

TEST_P(AgentLaunchTest, EveryTaskHasTheSdk) {
  StartAgent();
  std::filesystem::create_directories(folder_ + "/own");
  std::ofstream(folder_ + "/own/mine.py") << "";
  Launch(kKey,
         "/usr/bin/python3 -c 'import glim, mine, os; print(os.path.dirname(os.path.dirname(glim.__file__)))';"
         "echo \"$GLIM_SDK\"; command -v glim-task; touch \"$GLIM_SDK/x\" 2>/dev/null || echo read-only",
         [&](v1::TaskLaunch& launch) {
           launch.set_workdir(folder_);
           launch.add_env()->set_name("PYTHONPATH");
           launch.mutable_env(0)->set_value("own");
         });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  const std::string sdk =
      in_container() ? "/run/glim/sdk" : std::filesystem::canonical(BuiltFile("share/glim/sdk")).string();
  std::filesystem::remove(sdk + "/x");
  EXPECT_EQ(LogText(kKey, 0),
            sdk + "/python\n" + sdk + "\n" + sdk + "/bin/glim-task\n" + (in_container() ? "read-only\n" : ""));
}

TEST_P(AgentLaunchTest, WithoutAnSdkThereIsGlimTaskAlone) {
  StartAgent({"--sdk", "none"});
  Launch(kKey,
         "echo \"[$GLIM_SDK][$PYTHONPATH]\"; command -v glim-task;"
         "/usr/bin/python3 -c 'import glim' 2>&1 | tail -1");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "[][]\n" + BuiltFile("bin/glim-task") +
                                  "\n"
                                  "ModuleNotFoundError: No module named 'glim'\n");
}

TEST_P(AgentLaunchTest, ExitStatusesAndSignals) {
  StartAgent();
  const std::pair<std::string, int> cases[] = {
      {"exit 7", 7}, {"kill -KILL $$", 137}, {"kill -TERM $$", 143}, {"/nonexistent/program", 127}};
  std::uint64_t job = 10;
  for (const auto& [run, code] : cases) {
    SCOPED_TRACE(run);
    const TaskKey key{job++, 1, 0};
    Launch(key, run);
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->exit_code(), code);
    EXPECT_EQ(task->ranks(0).exit_code(), code);
    EXPECT_FALSE(task->start_failed());
  }
}

TEST_P(AgentLaunchTest, TheFirstFailureIsToldWhileTheOthersRun) {
  StartAgent();
  Launch(kKey, "[ $RANK = 1 ] && exit 3; sleep 1000", [](v1::TaskLaunch& launch) {
    launch.set_ranks(3);
    launch.set_per_gpu(true);
  });
  Send();
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.exit_code() != 0; });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->phase(), kRunning);
  EXPECT_EQ(task->exit_code(), 3);
  EXPECT_TRUE(task->ranks(1).exited());
  EXPECT_EQ(task->ranks(1).exit_code(), 3);
  EXPECT_FALSE(task->ranks(0).exited());
  EXPECT_FALSE(task->ranks(2).exited());
  Stop(kKey, 0);
  Send();
  const auto ended = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code(), 3) << "of the first that failed";
  EXPECT_EQ(ended->ranks(0).exit_code(), 137);
}

// And whose fault that is: `job`, where no node would do better; `path`, where another one may have it.
TEST_P(AgentLaunchTest, WhatCannotStartSaysWhy) {
  StartAgent();
  struct Case {
    std::string said;
    std::function<void(v1::TaskLaunch&)> more;
    std::string fault = "job";
  };
  const Case cases[] = {
      {"workdir /nonexistent/here cannot be used on this node", [](auto& l) { l.set_workdir("/nonexistent/here"); },
       "path"},
      {"workdir /etc/passwd cannot be used on this node: it is not a folder",
       [](auto& l) { l.set_workdir("/etc/passwd"); }},
      {"workdir must be an absolute path", [](auto& l) { l.set_workdir("here"); }},
      {"names no registry", [](auto& l) { l.set_image("registry/pytorch"); }},
      {in_container() ? "image sqfs:/nonexistent/x.sqsh cannot be used on this node" : "without containers",
       [](auto& l) { l.set_image("sqfs:/nonexistent/x.sqsh"); }, in_container() ? "path" : "node"},
      {"ranks must be 1 to 256", [](auto& l) { l.set_ranks(0); }},
      {"too large to start a program with", [](auto& l) { l.set_run(": " + std::string(200'000, 'x')); }},
      {in_container() ? "checkpoint.dir /proc/nothing is not among the folders" : "cannot create folder /proc/nothing",
       [](auto& l) { l.set_checkpoint_dir("/proc/nothing"); }, in_container() ? "job" : "node"},
  };
  std::uint64_t job = 20;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.said);
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo never", c.more);
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->start_failed());
    EXPECT_FALSE(task->lost());
    EXPECT_EQ(task->exit_code(), 0);
    EXPECT_NE(task->message().find(c.said), std::string::npos) << task->message();
    EXPECT_EQ(task->job_fault(), c.fault == "job");
    EXPECT_EQ(task->path_missing(), c.fault == "path");
    EXPECT_EQ(LogText(key, 0), "");
  }
}

TEST_P(AgentLaunchTest, ARankThatFailedTellsWhyAndWhen) {
  StartAgent();
  // More than one look of the shim takes, so that its end is read after the exit is known.
  const std::string run =
      "[ $RANK = 0 ] && exit 0\n"
      "seq 1 200000\n"
      "echo 'Traceback (most recent call last):'; echo '  File \"t.py\", line 1'\n"
      "echo \"ModuleNotFoundError: No module named 'glim'\"; exit 3";
  const auto begin = std::chrono::system_clock::now();
  Launch(kKey, run, [](v1::TaskLaunch& launch) {
    launch.set_ranks(2);
    launch.set_per_gpu(true);
  });
  Send();
  const auto failed = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.exit_code() != 0; });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->ranks(1).cause(), "ModuleNotFoundError: No module named 'glim'") << "told with the exit";
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks(0).cause(), "");
  EXPECT_EQ(task->ranks(1).cause(), failed->ranks(1).cause());
  const auto ms = [](auto at) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
  };
  for (const v1::ObservedRank& rank : task->ranks()) {
    EXPECT_GE(rank.exited_at_ms(), ms(begin));
    EXPECT_LE(rank.exited_at_ms(), ms(std::chrono::system_clock::now()));
  }
  KillAgent();
  StartAgent();
  Send();
  const auto adopted = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.ranks_size() == 2; });
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->ranks(1).cause(), failed->ranks(1).cause()) << "the next agent says the same";
  EXPECT_EQ(adopted->ranks(1).exited_at_ms(), task->ranks(1).exited_at_ms());
}

TEST_P(AgentLaunchTest, TheCauseIsFoundAcrossRotationAndOfAnyBytes) {
  StartAgent({"--log-file-bytes", "4096", "--log-files", "4"});
  Launch(kKey,
         "seq 1 5000; printf 'Traceback (most recent call last):\\n'; seq -f '  File \"%g\", line 1' 1 200;"
         "printf 'OSError: \\377\\033[31mbad\\007\\n'; exit 1");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks(0).cause(), "OSError: ?bad");
}

TEST_P(AgentLaunchTest, SaysWhichFoldersItGivesToJobs) {
  const std::string link = folder_ + "/link";
  std::filesystem::create_directory_symlink(state_ + "/..", link);
  StartAgent({"--mount-allow", link, "/nonexistent"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const v1::Hello hello = scheduler_.last_hello();
  const std::vector<std::string> told(hello.allowed_folders().begin(), hello.allowed_folders().end());
  // Each by its name, which jobs use, and where a link leads.
  const std::vector<std::string> folders = {"/tmp", link, "/nonexistent", root_};
  EXPECT_EQ(told, in_container() ? folders : std::vector<std::string>{});
  const bool warned = AgentLog().find("event=mount_allow_missing folder=\"/nonexistent\"") != std::string::npos;
  EXPECT_EQ(warned, in_container());
}

// On a busy node a task can be over, and said to be, before the process that started its shim has ended.
TEST_P(AgentLaunchTest, ATaskMayEndBeforeTheSpawnerOfItsShim) {
  const std::string folder = folder_ + "/bin";
  std::filesystem::create_directory(folder);
  for (const char* program : {"glim-init", "glim-paths", "glim-task"}) {
    std::filesystem::create_symlink(BuiltFile("bin/") + program, folder + "/" + program);
  }
  const std::string shim = folder + "/glim-shim";
  std::ofstream(shim) << "#!/bin/sh\necho $$ >" << folder_ << "/spawner\n"
                      << BuiltFile("bin/glim-shim")
                      << " \"$@\"\n"
                         "code=$?\nsleep 0.3\nexit $code\n";  // several looks of the agent later
  std::filesystem::permissions(shim, std::filesystem::perms::owner_all);
  StartAgent({"--shim", shim});
  Launch(kKey, "sleep 1000 & exit 3");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, v1::ObservedTask::EXITED)) << "what it left behind keeps its shim";
  pid_t spawner = 0;
  std::ifstream(folder_ + "/spawner") >> spawner;
  ASSERT_NE(spawner, 0);
  ASSERT_TRUE(Eventually([&] { return !IsRunning(spawner); }));
  Stop(kKey, 0);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 3);
  EXPECT_FALSE(task->lost());
}

GLIM_FOR_EACH_RUNTIME(AgentLaunchTest);

class RuntimeWordsTest : public AgentTest {};

// One that tells its version and fails everything else, without a word in its log.
TEST_P(RuntimeWordsTest, WhatTheRuntimeWritesWhenItFailsIsTold) {
  const std::string program = folder_ + "/" + GetParam();
  ASSERT_TRUE(WriteFileAtomically(program,
                                  "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho first\n"
                                  "echo 'the wrapper finds no runtime' >&2\nexit 3\n",
                                  Durability::kProcess)
                  .ok());
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  StartAgent({"--runc", program});
  Launch(kKey, "true");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_NE(task->message().find(" could not start the container: the wrapper finds no runtime"), std::string::npos)
      << task->message();
}

GLIM_IN_CONTAINERS(RuntimeWordsTest);

}  // namespace
}  // namespace glim::nodeagent
