// Being asked by a signal: what people's programs look like, each asked once while it runs. `program` saves so long
// after the signal, unless something that it needs is gone by then: 300 ms, with time enough. Or GLIM_TEST_SAVE_S
// seconds, in a grace of 20 s: the part `requests` of tests/nightly.
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr char kProgram[] = R"(#!/usr/bin/python3
import multiprocessing, os, signal, subprocess, sys, time

told = []


def helper():
    if "helper" in sys.argv:
        return subprocess.Popen(["sleep", "1000"])
    if "fork" in sys.argv or "spawn" in sys.argv:
        worker = multiprocessing.get_context(sys.argv[-1]).Process(target=time.sleep, args=(1000,))
        worker.start()
        return worker


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    if "launch" in sys.argv:
        subprocess.run([sys.executable, __file__])
        return
    mine = helper()
    print("up", flush=True)
    while not told:
        time.sleep(0.02)
    time.sleep(float(os.environ["SAVE_S"]))
    if len(told) > 1:
        print("asked more than once", flush=True)
    if mine is not None:
        if not (mine.poll() is None if hasattr(mine, "poll") else mine.is_alive()):
            raise RuntimeError("a helper was killed")
        mine.kill()
    print("saved", flush=True)


if __name__ == "__main__":
    main()
)";

struct Form {
  const char* name;
  const char* run;  // P stands for the program
};

// $P is the program.
const Form kForms[] = {
    {"alone", "exec $P"},
    {"with a decoder behind a pipe", "exec $P helper"},
    {"with forked workers", "exec $P fork"},
    {"with spawned workers", "exec $P spawn"},
    {"followed by another command", "$P; echo more"},
    {"followed by another command if it succeeds", "$P && echo more"},
    {"into tee", "$P | tee copy"},
    {"into a loop of the shell", "$P | while read line; do echo \"$line\"; done"},
    {"into tee by the shell's own output", "exec > >(tee copy); $P; echo more"},
    {"below timeout", "timeout 1h $P fork; echo more"},
    {"in a session of its own", "setsid --wait $P helper; echo more"},
    {"under job control", "set -m; $P helper & wait; echo more"},
    {"by xargs", "echo 1 2 | xargs -P 2 -n 1 $P; echo more"},
    {"below a shell that cleans up", "trap 'rm state' EXIT; touch state; $P helper; echo more"},
    {"below a shell with a trap that waits", "trap 'echo told' TERM; $P helper; exit 0"},
    {"below a shell that hands on", "trap 'kill $child' TERM; $P & child=$!; wait $child; exit 0"},
    {"in a command substitution", "text=$($P | while read line; do echo \"$line\" >&2; done)"},
    {"below a launcher that knows of no signal",
     "exec python3 -c 'import os, subprocess; subprocess.run([os.environ[\"P\"]]); print(\"more\")'"},
    {"below two shells", "bash -c '$P helper; echo more'; echo more"},
    {"in the background of a shell that waits for something else", "$P & tail -f /dev/null"},
};

class AgentRequestTest : public AgentTest {
 protected:
  static constexpr std::int64_t kGraceMs = 20'000;

  void SetUp() override {
    AgentTest::SetUp();
    program_ = folder_ + "/program";
    ASSERT_TRUE(WriteFileAtomically(program_, kProgram, Durability::kProcess).ok());
    ASSERT_EQ(::chmod(program_.c_str(), 0755), 0);
  }

  // Starts the form and asks it once it is up.
  TaskKey Ask(std::uint64_t job, const std::string& form, bool all = false, std::int64_t grace_ms = kGraceMs) {
    const TaskKey key{job, 1, 0};
    Launch(key, "export P=" + program_ + " SAVE_S=" + save_s_ + "; " + form,
           [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
    Send();
    WaitLine(key, 0, "up");
    auto* order = Listed(key).mutable_interrupt();
    order->set_agreement(1);
    order->set_reason("suspended");
    order->set_grace_left_ms(Slower(Milliseconds(grace_ms)).ms);
    order->set_stop_step(-1);
    order->set_no_agreement(true);
    order->set_signal("TERM");
    order->set_signal_all(all);
    Send();
    return key;
  }

  std::string program_;
  const bool saves_long_ = std::getenv("GLIM_TEST_SAVE_S") != nullptr;
  const std::string save_s_ = saves_long_ ? std::getenv("GLIM_TEST_SAVE_S") : "0.3";
};

TEST_P(AgentRequestTest, TheProgramSavesAndNothingOfItGoesOn) {
  StartAgent();
  std::uint64_t job = 100;
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    const TaskKey key = Ask(++job, form.run);
    const auto asked_at = std::chrono::steady_clock::now();
    const auto task = WaitPhase(key, v1::ObservedTask::RELEASED);
    ASSERT_TRUE(task);
    if (saves_long_) {
      EXPECT_LT(std::chrono::steady_clock::now() - asked_at, Slower(std::chrono::milliseconds(kGraceMs)));
    }
    const std::string log = LogText(key, 0);
    EXPECT_NE(log.find("saved\n"), std::string::npos) << log;
    EXPECT_EQ(log.find("more\n"), std::string::npos) << "a training that is not over has been followed: " << log;
    EXPECT_EQ(log.find("asked more than once"), std::string::npos);
    Unlist(key);
  }
}

TEST_P(AgentRequestTest, ALauncherThatKeepsTheSignalIsHelpedAfterHalfOfTheGrace) {
  StartAgent();
  const TaskKey key = Ask(1, "exec $P launch", false, saves_long_ ? kGraceMs : 2'000);
  ASSERT_TRUE(WaitPhase(key, v1::ObservedTask::RELEASED));
  EXPECT_NE(LogText(key, 0).find("saved\n"), std::string::npos) << LogText(key, 0);
}

TEST_P(AgentRequestTest, AllAreAskedIfTheJobWantsThat) {
  StartAgent();
  const TaskKey key = Ask(1, "exec $P helper", true);
  const auto task = WaitPhase(key, v1::ObservedTask::RELEASED);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 1);
  ASSERT_EQ(task->ranks_size(), 1);
  EXPECT_EQ(task->ranks(0).cause(), "RuntimeError: a helper was killed");
}

TEST_P(AgentRequestTest, WhatNobodyHandlesEndsAtOnceInWhateverGroupItIs) {
  StartAgent();
  const TaskKey key = Ask(1, "echo up; setsid --wait sleep 1000; echo more");
  const auto task = WaitPhase(key, v1::ObservedTask::RELEASED);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(key, 0), "up\n");
}

// `sleep 1000` would hold the node for the whole grace.
TEST_P(AgentRequestTest, WhatAProgramLeavesBehindEndsOnceItDoesNothing) {
  StartAgent();
  // A program for the second: a shell forks, and its children look like programs for a moment.
  const TaskKey key = Ask(1,
                          "trap 'echo saved; exit 0' TERM; sleep 1000 & /usr/bin/python3 -c '"
                          "import time; print(\"up\", flush=True); [time.sleep(0.1) for i in range(50)];"
                          " print(\"saved too\")' & wait",
                          false, 600'000);
  ASSERT_TRUE(WaitPhase(key, v1::ObservedTask::RELEASED));
  EXPECT_EQ(LogText(key, 0), "up\nsaved\nsaved too\n") << "one works on";
}

// An end of the grace while a shell is stopped: it must not stay.
TEST_P(AgentRequestTest, AStopAfterTheRequestEndsWhatIsStopped) {
  StartAgent();
  const TaskKey key =
      Ask(1, "trap '' TERM; bash -c 'trap \"echo late\" TERM; echo up; while :; do sleep 0.1; done'; echo more");
  Stop(key, 300);
  Send();
  ASSERT_TRUE(WaitPhase(key, v1::ObservedTask::RELEASED));
  EXPECT_EQ(LogText(key, 0).find("more"), std::string::npos);
}

GLIM_FOR_EACH_RUNTIME(AgentRequestTest);

}  // namespace
}  // namespace glim::nodeagent
