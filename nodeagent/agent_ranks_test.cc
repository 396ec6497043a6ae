#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

// A rank that speaks the protocol by hand.
class RawRank {
 public:
  explicit RawRank(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = Eventually([&] {
      fd_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    });
  }
  bool connected() const { return connected_; }
  void Say(const std::string& line) {
    const std::string whole = line + "\n";
    ASSERT_EQ(::send(fd_.get(), whole.data(), whole.size(), MSG_NOSIGNAL), static_cast<ssize_t>(whole.size()));
  }
  void Say(const json& message) { Say(message.dump()); }
  // A line without end: the other side has to put one to it.
  void FloodUntilClosed() {
    const std::string block(4096, 'x');
    int blocks = 0;
    while (++blocks < 1000 && ::send(fd_.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
    EXPECT_LT(blocks, 1000);
  }
  // The next message; a null value at the connection's end or after a long wait.
  json Hear() {
    for (;;) {
      if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
        const json message = json::parse(input_.substr(0, end));
        input_.erase(0, end + 1);
        return message;
      }
      pollfd wait{fd_.get(), POLLIN, 0};
      char buffer[4096];
      if (::poll(&wait, 1, LongWaitMs()) != 1) return json();
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return json();
      input_.append(buffer, static_cast<std::size_t>(n));
    }
  }
  json Hello(int rank) {
    Say(json{{"type", "hello"}, {"protocol", 2}, {"rank", rank}, {"pid", 1}, {"sdk", "test"}});
    return Hear();
  }

 private:
  UniqueFd fd_;
  std::string input_;
  bool connected_ = false;
};

class AgentRanksTest : public AgentTest {
 protected:
  void LaunchSleeper() {
    StartAgent();
    Launch(kKey, "sleep 1000");
    Send();
    ASSERT_TRUE(WaitPhase(kKey, kRunning));
  }
  v1::InterruptOrder& Order(std::uint32_t agreement) {
    v1::InterruptOrder& order = *Listed(kKey).mutable_interrupt();
    order.set_agreement(agreement);
    order.set_reason("preempted");
    order.set_preemptor("job 9 big (high) of user kim");
    order.set_grace_left_ms(60'000);
    order.set_stop_step(-1);
    return order;
  }
  std::string Socket() const { return TaskFolder(kKey) + "/run/socket"; }
  static v1::ObservedRank Rank(const std::optional<v1::ObservedTask>& task) {
    return task && task->ranks_size() > 0 ? task->ranks(0) : v1::ObservedRank();
  }
};

// A program of a moment's length (glim-task) is enough: from its hello on the job can be asked by the flag.
TEST_P(AgentRanksTest, AHelloIsToldThoughItsConnectionIsOver) {
  LaunchSleeper();
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks_size() == 1 && !t.ranks(0).greeted(); }));
  {
    RawRank rank(Socket());
    ASSERT_TRUE(rank.connected());
    EXPECT_EQ(rank.Hello(0)["type"], "welcome");
  }
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).greeted() && !t.ranks(0).connected(); }));
}

TEST_P(AgentRanksTest, TheFlagGoesDownAndTheAnswersComeBack) {
  LaunchSleeper();
  struct stat info {};
  ASSERT_EQ(::stat(Socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  RawRank rank(Socket());
  ASSERT_TRUE(rank.connected());
  EXPECT_EQ(rank.Hello(0), (json{{"type", "welcome"},
                                 {"protocol", 2},
                                 {"version", GLIM_VERSION},
                                 {"seq", 0},
                                 {"agreement", 0},
                                 {"step", -1}}));
  rank.Say(json{{"type", "progress"}, {"seq", 1}, {"step", 41}, {"step_ms", 120.4}});
  EXPECT_EQ(rank.Hear(), (json{{"type", "ack"}, {"seq", 1}}));
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).step() == 41 && t.ranks(0).step_ms() == 120; }));
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).connected(); }));

  Order(1);
  Send();
  json flag = rank.Hear();
  EXPECT_EQ(flag["type"], "interrupt");
  EXPECT_EQ(flag["agreement"], 1);
  EXPECT_EQ(flag["preemptor"], "job 9 big (high) of user kim");
  EXPECT_GT(flag["grace_left_ms"].get<int>(), 50'000);
  rank.Say(json{{"type", "ack"}, {"seq", 2}, {"agreement", 1}, {"hold", 43}});
  EXPECT_EQ(rank.Hear(), (json{{"type", "ack"}, {"seq", 2}}));
  EXPECT_TRUE(
      WaitTask(kKey, [](const auto& t) { return t.ranks(0).acked_agreement() == 1 && t.ranks(0).hold() == 43; }));

  Order(1).set_stop_step(44);
  Send();
  EXPECT_EQ(rank.Hear()["type"], "interrupt");
  EXPECT_EQ(rank.Hear(), (json{{"type", "stop_at"}, {"agreement", 1}, {"step", 44}}));
  rank.Say(json{{"type", "needs"}, {"seq", 3}, {"agreement", 1}, {"seconds", 12.5}});
  rank.Say(json{{"type", "saved"}, {"seq", 4}, {"step", 44}, {"path", "/ckpt/44"}, {"shard", 1}, {"shards", 2}});
  rank.Say(json{{"type", "leaving"}, {"seq", 5}, {"agreement", 1}});
  const auto task = WaitTask(kKey, [](const auto& t) { return t.ranks(0).leaving(); });
  const v1::ObservedRank seen = Rank(task);
  EXPECT_EQ(seen.extend_ms(), 12'500);
  ASSERT_EQ(seen.saves_size(), 1);
  EXPECT_EQ(seen.saves(0).step(), 44);
  EXPECT_EQ(seen.saves(0).path(), "/ckpt/44");
  EXPECT_EQ(seen.saves(0).shard(), 1u);
  EXPECT_EQ(seen.saves(0).shards(), 2u);
  EXPECT_FALSE(seen.yielded());
}

TEST_P(AgentRanksTest, WhatWasAcknowledgedOutlivesTheAgent) {
  LaunchSleeper();
  {
    RawRank rank(Socket());
    rank.Hello(0);
    rank.Say(json{{"type", "restored"}, {"seq", 1}, {"step", 30}, {"duration_ms", 5}});
    for (int i = 0; i < 6; ++i) {
      rank.Say(json{{"type", "saved"}, {"seq", 2 + i}, {"step", 31 + i}, {"path", "/ckpt"}, {"bytes", 1}});
    }
    rank.Say(json{{"type", "leaving"}, {"seq", 8}, {"agreement", 0}});
    for (json heard = rank.Hear(); heard["seq"] != 8; heard = rank.Hear()) ASSERT_FALSE(heard.is_null());
  }
  KillAgent();
  StartAgent();
  RawRank rank(Socket());
  ASSERT_TRUE(rank.connected());
  EXPECT_EQ(rank.Hello(0)["seq"], 8);
  rank.Say(json{{"type", "restored"}, {"seq", 1}, {"step", 99}});  // sent again, though taken in
  EXPECT_EQ(rank.Hear(), (json{{"type", "ack"}, {"seq", 8}}));
  const v1::ObservedRank seen = Rank(WaitTask(kKey, [](const auto& t) { return t.ranks(0).connected(); }));
  EXPECT_EQ(seen.restored_step(), 30);
  EXPECT_TRUE(seen.leaving());
  EXPECT_TRUE(seen.yielded());
  ASSERT_EQ(seen.saves_size(), 4) << "the newest four";
  EXPECT_EQ(seen.saves(0).step(), 33);
  EXPECT_EQ(seen.saves(3).step(), 36);
}

TEST_P(AgentRanksTest, ALateConnectionHearsWhatIsInForceAndASecondReplacesTheFirst) {
  LaunchSleeper();
  Order(3).set_no_agreement(true);
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const auto& r) { return r.revision() == revision; }));
  RawRank first(Socket());
  EXPECT_EQ(first.Hello(0)["agreement"], 3);
  EXPECT_EQ(first.Hear()["type"], "interrupt");
  EXPECT_EQ(first.Hear(), (json{{"type", "stop_now"}, {"agreement", 3}}));
  RawRank second(Socket());
  EXPECT_EQ(second.Hello(0)["agreement"], 3);
  EXPECT_TRUE(first.Hear().is_null()) << "replaced";
  EXPECT_EQ(second.Hear()["type"], "interrupt");
  EXPECT_EQ(second.Hear()["type"], "stop_now");
  Order(3).set_withdrawn(true);
  Send();
  EXPECT_EQ(second.Hear(), (json{{"type", "withdrawn"}, {"agreement", 3}}));
}

TEST_P(AgentRanksTest, WhatDoesNotFitIsRefusedAndDoesNoHarm) {
  LaunchSleeper();
  {
    RawRank stranger(Socket());
    EXPECT_EQ(stranger.Hello(5)["type"], "refused") << "not a rank of this node";
    RawRank rude(Socket());
    rude.Say(json{{"type", "progress"}, {"seq", 1}, {"step", 1}});
    EXPECT_EQ(rude.Hear()["type"], "refused") << "no hello";
  }
  RawRank rank(Socket());
  rank.Hello(0);
  rank.Say(std::string("{{{"));
  json refused = rank.Hear();
  EXPECT_EQ(refused["type"], "refused");
  EXPECT_EQ(refused["seq"], 0);
  rank.Say(json{{"type", "saved"}, {"seq", 1}, {"step", 1}});
  refused = rank.Hear();
  EXPECT_EQ(refused["seq"], 1);
  EXPECT_EQ(refused["error"], "path: is missing");
  EXPECT_EQ(rank.Hear(), (json{{"type", "ack"}, {"seq", 1}})) << "it counts as taken in";
  rank.Say(json{{"type", "progress"}, {"seq", 2}, {"step", 8}});
  EXPECT_EQ(rank.Hear()["seq"], 2);
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).step() == 8 && t.ranks(0).saves_size() == 0; }));
  rank.Say(std::string(65'600, 'x'));
  EXPECT_EQ(rank.Hear()["type"], "refused") << "too long";
  rank.FloodUntilClosed();
  EXPECT_TRUE(WaitTask(kKey, [](const auto& t) { return !t.ranks(0).connected(); }));
}

TEST_P(AgentRanksTest, AnotherProtocolIsRefusedWithBothVersions) {
  LaunchSleeper();
  RawRank rank(Socket());
  rank.Say(json{{"type", "hello"}, {"protocol", 3}, {"rank", 0}, {"pid", 1}, {"sdk", "glim-python 9.0.0"}});
  const json refused = rank.Hear();
  EXPECT_EQ(refused["type"], "refused");
  EXPECT_EQ(refused["protocol"], 2);
  EXPECT_EQ(refused["version"], GLIM_VERSION);
  EXPECT_EQ(refused["error"], "protocol: 3 is not spoken by this node's agent (" GLIM_VERSION "), which speaks 2");
}

TEST_P(AgentRanksTest, StepsAreThrottledAndAnswersAreNot) {
  LaunchSleeper();
  RawRank rank(Socket());
  rank.Hello(0);
  ASSERT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).connected(); }));
  const int before = scheduler_.reports();
  for (int i = 1; i <= 500; ++i) {
    rank.Say(json{{"type", "progress"}, {"seq", i}, {"step", i}});
    ASSERT_EQ(rank.Hear()["seq"], i);
  }
  ASSERT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks(0).step() == 500; }));
  EXPECT_LT(scheduler_.reports() - before, 250) << "of 500 steps, however long they take";
}

TEST_P(AgentRanksTest, ASignalModeJobGetsItsSignalOnce) {
  StartAgent();
  Launch(kKey, "n=0; trap 'n=$((n+1)); echo got $n' USR1; echo up; while :; do sleep 0.01; done");
  Send();
  WaitLine(kKey, 0, "up");
  for (int i = 0; i < 3; ++i) {
    Order(1).set_signal("USR1");
    Send();
  }
  WaitLine(kKey, 0, "got 1");
  KillAgent();
  StartAgent();
  Order(2).set_signal("USR1");
  Send();
  WaitLine(kKey, 0, "got 2");
  EXPECT_EQ(LogText(kKey, 0), "up\ngot 1\ngot 2\n") << "once an agreement, the agent's restart notwithstanding";
}

TEST_P(AgentRanksTest, AShellScriptSavesAndLeavesByGlimTask) {
  StartAgent();
  Launch(kKey,
         "step=0; while :; do glim-task progress $step --step-seconds 0.02 || exit 80\n"
         "if glim-task interrupted; then echo state > \"$GLIM_CHECKPOINT_DIR/s\"; glim-task needs 3;"
         "glim-task saved --step $step --path \"$GLIM_CHECKPOINT_DIR/s\"; glim-task leave;"
         "echo stopped $step; exit 0; fi; step=$((step+1)); done");
  Send();
  ASSERT_TRUE(WaitTask(kKey, [](const auto& t) { return t.ranks_size() == 1 && t.ranks(0).step() >= 3; }));
  Order(1);
  Send();
  const auto acked = WaitTask(kKey, [](const auto& t) { return t.ranks(0).acked_agreement() == 1; });
  ASSERT_TRUE(acked);
  const std::int64_t hold = acked->ranks(0).hold();
  EXPECT_EQ(hold, acked->ranks(0).step()) << "it stands at its last complete step until the verdict";
  Order(1).set_stop_step(hold + 2);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 0);
  EXPECT_EQ(WaitLine(kKey, 0, "stopped "), std::to_string(hold + 2)) << "it ran through S";
  const v1::ObservedRank seen = Rank(task);
  EXPECT_TRUE(seen.leaving());
  EXPECT_EQ(seen.extend_ms(), 3000);
  ASSERT_EQ(seen.saves_size(), 1);
  EXPECT_EQ(seen.saves(0).step(), hold + 2);
  EXPECT_EQ(seen.saves(0).bytes(), 6);
}

TEST_P(AgentRanksTest, AScriptWithoutStepsWaitsForTheFlagAndLeaves) {
  StartAgent();
  Launch(kKey, "glim-task interrupted; echo not yet $?; glim-task interrupted --wait; echo now $?; glim-task leave");
  Send();
  EXPECT_EQ(WaitLine(kKey, 0, "not yet "), "1");
  Order(1);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(WaitLine(kKey, 0, "now "), "0");
  EXPECT_TRUE(task->ranks(0).leaving());
  EXPECT_TRUE(task->ranks(0).finished());
}

TEST_P(AgentRanksTest, AScriptTellsThatItsSaveCannotBeHad) {
  StartAgent();
  Launch(kKey, "glim-task restore-failed 'sha256 differs'; echo said $?; exit 1", [](v1::TaskLaunch& launch) {
    for (const auto& [name, value] :
         {std::pair("GLIM_RESUME_PATH", "s3://ckpt/7"), std::pair("GLIM_RESUME_STEP", "41")}) {
      launch.add_env()->set_name(name);
      launch.mutable_env(launch.env_size() - 1)->set_value(value);
    }
  });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(WaitLine(kKey, 0, "said "), "0");
  EXPECT_EQ(Rank(task).restore_failed(), "s3://ckpt/7: sha256 differs");
  EXPECT_EQ(task->exit_code(), 1);
}

TEST_P(AgentRanksTest, AScriptTellsThatItCouldNotSave) {
  StartAgent();
  Launch(kKey, "glim-task progress 7; glim-task save-failed 'the disk is full'; echo said $?; exit 1");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(WaitLine(kKey, 0, "said "), "0");
  EXPECT_EQ(Rank(task).save_failure().step(), 7);
  EXPECT_EQ(Rank(task).save_failure().why(), "the disk is full");
  EXPECT_EQ(Rank(task).save_failure().count(), 1u);
}

TEST(GlimTask, OutsideAJobItIsHarmless) {
  const std::string program = "env -u GLIM_SOCKET " + BuiltFile("bin/glim-task ");
  const std::pair<std::string, int> cases[] = {
      {"interrupted", 1}, {"progress 3", 0},          {"needs 5", 0},         {"saved --step 1 --path /tmp", 0},
      {"leave", 0},       {"restore-failed gone", 0}, {"save-failed full", 0}};
  for (const auto& [command, code] : cases) {
    const int status = std::system((program + command + " 2>/dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(status), code) << command;
  }
}

GLIM_FOR_EACH_RUNTIME(AgentRanksTest);

}  // namespace
}  // namespace glim::nodeagent
