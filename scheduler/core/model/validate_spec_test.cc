// ValidateSpec: every refusal names the field and says how to mend it.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/core/testing/specs.h"
#include "sdk/task_environment/variables.h"

namespace glim::core {
namespace {

using testing::Spec;

CodeSnapshot Snapshot() {
  const std::string hash(64, 'a');
  return {"/shared/snapshots/1001/" + hash + ".tar.zst", hash, "1a2b3c4d-dirty", 1000};
}

struct Refusal {
  const char* what;
  const char* field;
  std::function<void(JobSpec&)> change;
};

const Refusal kRefusals[] = {
    {"no name", "name", [](JobSpec& s) { s.name = ""; }},
    {"a space in the name", "name", [](JobSpec& s) { s.name = "my job"; }},
    {"a path as the name", "name", [](JobSpec& s) { s.name = "../up"; }},
    {"the folder above as the name", "name", [](JobSpec& s) { s.name = ".."; }},
    {"a name that hides its folder", "name", [](JobSpec& s) { s.name = ".hidden"; }},
    {"a name that reads as an option", "name", [](JobSpec& s) { s.name = "-rf"; }},
    {"a long name", "name", [](JobSpec& s) { s.name = std::string(129, 'a'); }},
    {"a newline in the pool", "pool", [](JobSpec& s) { s.pool = "a\nb"; }},
    {"what repaints a terminal as the team", "team", [](JobSpec& s) { s.team = "a\x1b[2J"; }},
    {"a long team", "team", [](JobSpec& s) { s.team = std::string(129, 'a'); }},
    {"no nodes", "nodes", [](JobSpec& s) { s.nodes = 0; }},
    {"absurdly many nodes", "nodes", [](JobSpec& s) { s.nodes = 20'001; }},
    {"absurdly many GPUs", "gpus_per_node", [](JobSpec& s) { s.gpus_per_node = 65; }},
    {"a process for each of no GPUs", "gpus_per_node",
     [](JobSpec& s) {
       s.launcher = Launcher::kPerGpu;
       s.gpus_per_node = 0;
     }},
    {"too many zones", "placement.zones", [](JobSpec& s) { s.placement.zones.assign(65, "z"); }},
    {"an empty zone", "placement.zones[0]", [](JobSpec& s) { s.placement.zones = {""}; }},
    {"a bad GPU type", "placement.gpu_type", [](JobSpec& s) { s.placement.gpu_type = "a100\x01"; }},
    {"a bad NIC", "placement.nic", [](JobSpec& s) { s.placement.nic = "a b"; }},
    {"a bad name of a node", "placement.node", [](JobSpec& s) { s.placement.node = "n 1"; }},
    {"one node named for two", "placement.node", [](JobSpec& s) { s.nodes = 2, s.placement.node = "n1"; }},
    {"too many secrets", "secrets",
     [](JobSpec& s) {
       s.secrets.assign(33, {"a", ""});
     }},
    {"a secret without a name", "secrets[0]",
     [](JobSpec& s) {
       s.secrets = {{"", ""}};
     }},
    {"a secret that is the folder above", "secrets[0]",
     [](JobSpec& s) {
       s.secrets = {{"..", ""}};
     }},
    {"a secret in another folder", "secrets[0]",
     [](JobSpec& s) {
       s.secrets = {{"a/b", ""}};
     }},
    {"a secret with a long name", "secrets[0]",
     [](JobSpec& s) {
       s.secrets = {{std::string(65, 'a'), ""}};
     }},
    {"a secret twice", "secrets[1]",
     [](JobSpec& s) {
       s.secrets = {{"a", ""}, {"a", "B"}};
     }},
    {"a secret as no variable", "secrets[0].env",
     [](JobSpec& s) {
       s.secrets = {{"a", "A-B"}};
     }},
    {"a secret as Glim's variable", "secrets[0].env",
     [](JobSpec& s) {
       s.secrets = {{"a", "GLIM_X"}};
     }},
    {"two secrets as one variable", "secrets[1].env",
     [](JobSpec& s) {
       s.secrets = {{"a", "X"}, {"b", "X"}};
     }},
    {"a secret as a variable that is there", "secrets[0].env",
     [](JobSpec& s) {
       s.env = {{"X", "1"}};
       s.secrets = {{"a", "X"}};
     }},
    {"an image", "image", [](JobSpec& s) { s.image = "pytorch:2"; }},
    {"no workdir", "workdir", [](JobSpec& s) { s.workdir = ""; }},
    {"a relative workdir", "workdir", [](JobSpec& s) { s.workdir = "work"; }},
    {"a long workdir", "workdir", [](JobSpec& s) { s.workdir = "/" + std::string(1024, 'w'); }},
    {"a newline in the workdir", "workdir", [](JobSpec& s) { s.workdir = "/a\nb"; }},
    {"no command", "run", [](JobSpec& s) { s.run = ""; }},
    {"a blank command", "run", [](JobSpec& s) { s.run = " \n"; }},
    {"a command that is not UTF-8", "run", [](JobSpec& s) { s.run = "echo \xff"; }},
    {"a long command", "run", [](JobSpec& s) { s.run = std::string(16 * 1024 + 1, 'x'); }},
    {"an escape sequence in the command", "run", [](JobSpec& s) { s.run = "echo \x1b[2J"; }},
    {"a NUL in the command", "run", [](JobSpec& s) { s.run = std::string("a\0b", 3); }},
    {"a relative checkpoint folder", "checkpoint.dir", [](JobSpec& s) { s.checkpoint_dir = "ckpt"; }},
    {"a control character in the checkpoint folder", "checkpoint.dir", [](JobSpec& s) { s.checkpoint_dir = "/c\x7f"; }},
    {"too much in env and run together", "env",
     [](JobSpec& s) {
       for (int i = 0; i < 16; ++i) s.env.emplace_back("V" + std::to_string(i), std::string(16 * 1024, 'x'));
     }},
    {"too many variables", "env",
     [](JobSpec& s) {
       for (int i = 0; i < 257; ++i) s.env.emplace_back("V" + std::to_string(i), "x");
     }},
    {"a variable without a name", "env.",
     [](JobSpec& s) {
       s.env = {{"", "x"}};
     }},
    {"a variable that begins with a digit", "env.1A",
     [](JobSpec& s) {
       s.env = {{"1A", "x"}};
     }},
    {"a variable with a dot", "env.A.B",
     [](JobSpec& s) {
       s.env = {{"A.B", "x"}};
     }},
    {"a variable given twice", "env.A",
     [](JobSpec& s) {
       s.env = {{"A", "1"}, {"A", "2"}};
     }},
    {"a variable of Glim", "env.GLIM_SOCKET",
     [](JobSpec& s) {
       s.env = {{"GLIM_SOCKET", "/x"}};
     }},
    {"a variable of the rendezvous", "env.MASTER_PORT",
     [](JobSpec& s) {
       s.env = {{"MASTER_PORT", "1"}};
     }},
    {"a rank of its own", "env.RANK",
     [](JobSpec& s) {
       s.env = {{"RANK", "0"}};
     }},
    {"a world of its own", "env.WORLD_SIZE",
     [](JobSpec& s) {
       s.env = {{"WORLD_SIZE", "8"}};
     }},
    {"a NUL in a value", "env.A",
     [](JobSpec& s) {
       s.env = {{"A", std::string("\0", 1)}};
     }},
    {"a long value", "env.A",
     [](JobSpec& s) {
       s.env = {{"A", std::string(16 * 1024 + 1, 'x')}};
     }},
    {"a negative grace", "interrupt.grace", [](JobSpec& s) { s.grace = Milliseconds(-1); }},
    {"a grace of days", "interrupt.grace", [](JobSpec& s) { s.grace = s.max_grace = Hours(25); }},
    {"an endless longest grace", "interrupt.max_grace", [](JobSpec& s) { s.max_grace = Hours(25); }},
    {"a longest grace below the grace", "interrupt.max_grace", [](JobSpec& s) { s.max_grace = Seconds(59); }},
    {"a signal that the format does not have", "interrupt.signal", [](JobSpec& s) { s.interrupt_signal = "HUP"; }},
    {"a signal that kills", "interrupt.signal", [](JobSpec& s) { s.interrupt_signal = "KILL"; }},
    {"a negative checkpoint interval", "checkpoint.every", [](JobSpec& s) { s.checkpoint_every = Seconds(-1); }},
    {"no checkpoint kept", "checkpoint.keep", [](JobSpec& s) { s.checkpoint_keep = 0; }},
    {"too many checkpoints kept", "checkpoint.keep", [](JobSpec& s) { s.checkpoint_keep = 1001; }},
    {"an unknown cause of restarts", "restart.on[0]", [](JobSpec& s) { s.restart_on = {"boredom"}; }},
    {"a restart on an end that is the program's own", "restart.on[1]",
     [](JobSpec& s) {
       s.restart_on = {"node_failure", "out_of_memory"};
     }},
    {"too many restarts", "restart.max", [](JobSpec& s) { s.restart_max = 10'001; }},
    {"a negative backoff", "restart.backoff", [](JobSpec& s) { s.restart_backoff = Seconds(-1); }},
    {"a backoff of days", "restart.backoff", [](JobSpec& s) { s.restart_backoff = Hours(25); }},
    {"too many mounts", "mounts",
     [](JobSpec& s) {
       for (int i = 0; i < 65; ++i) s.mounts.push_back({"/d", "/d" + std::to_string(i)});
     }},
    {"a relative mount", "mounts[0].source",
     [](JobSpec& s) {
       s.mounts = {{"data", "/data"}};
     }},
    {"a mount that climbs out", "mounts[0].source",
     [](JobSpec& s) {
       s.mounts = {{"/data/../etc", "/data"}};
     }},
    {"a mount over everything", "mounts[0].target",
     [](JobSpec& s) {
       s.mounts = {{"/data", "/"}};
     }},
    {"a target with two spellings", "mounts[1].target",
     [](JobSpec& s) {
       s.mounts = {{"/a", "/a"}, {"/a", "/b/"}};
     }},
    {"a mount over the system", "mounts[0].target",
     [](JobSpec& s) {
       s.mounts = {{"/a", "/usr/lib"}};
     }},
    {"a mount over /tmp", "mounts[0].target",
     [](JobSpec& s) {
       s.mounts = {{"/a", "/tmp"}};
     }},
    {"a variable that is not expanded", "checkpoint.dir", [](JobSpec& s) { s.checkpoint_dir = "/c/$HOME"; }},
    {"a variable that is not closed", "checkpoint.dir", [](JobSpec& s) { s.checkpoint_dir = "/c/${GLIM_JOB_ID"; }},
    {"saves all the time", "checkpoint.every", [](JobSpec& s) { s.checkpoint_every = Milliseconds(999); }},
    {"a checkpoint folder that climbs out", "checkpoint.dir", [](JobSpec& s) { s.checkpoint_dir = "/ckpt/../etc"; }},
    {"a workdir that climbs out", "workdir", [](JobSpec& s) { s.workdir = "/home/kim/.."; }},
    {"two mounts at one place", "mounts[1].target",
     [](JobSpec& s) {
       s.mounts = {{"/a", "/d"}, {"/b", "/d"}};
     }},
    {"negative memory", "limits.memory", [](JobSpec& s) { s.limits.memory_bytes = -1; }},
    {"next to no memory", "limits.memory", [](JobSpec& s) { s.limits.memory_bytes = 1 << 20; }},
    {"next to no CPU", "limits.cpus", [](JobSpec& s) { s.limits.cpu_millis = 9; }},
    {"too few processes", "limits.pids", [](JobSpec& s) { s.limits.pids = 15; }},
    {"too much shared memory", "limits.shm", [](JobSpec& s) { s.limits.shm_bytes = std::int64_t{1} << 51; }},
    {"a negative time limit", "limits.time", [](JobSpec& s) { s.time_limit = Seconds(-1); }},
    {"the least time limit of all", "limits.time", [](JobSpec& s) { s.time_limit = Milliseconds(INT64_MIN); }},
    {"the least memory of all", "limits.memory", [](JobSpec& s) { s.limits.memory_bytes = INT64_MIN; }},
    {"next to no time", "limits.time", [](JobSpec& s) { s.time_limit = Milliseconds(999); }},
    {"more time than a year", "limits.time", [](JobSpec& s) { s.time_limit = Hours(24 * 365) + Milliseconds(1); }},
    {"too many dependencies", "after",
     [](JobSpec& s) {
       for (std::uint64_t i = 1; i <= 65; ++i) s.after.push_back({JobId(i), DependencyKind::kOk});
     }},
    {"a dependency on no job", "after[1]",
     [](JobSpec& s) {
       s.after = {{JobId(1), {}}, {JobId(), {}}};
     }},
    {"a dependency given twice", "after[2]",
     [](JobSpec& s) {
       s.after = {{JobId(1), {}}, {JobId(2), {}}, {JobId(1), DependencyKind::kAny}};
     }},
    {"a snapshot without a hash", "snapshot.sha256",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.sha256 = "ab";
     }},
    {"a hash in capitals", "snapshot.sha256",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.sha256 = std::string(64, 'A');
     }},
    {"a snapshot without a path", "snapshot.path",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.path = "";
     }},
    {"a snapshot's relative path", "snapshot.path",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.path = s.snapshot.path.substr(1);
     }},
    {"a snapshot of another hash", "snapshot.path",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.sha256 = std::string(64, 'b');
     }},
    {"a snapshot elsewhere", "snapshot.path",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.path = "/etc/" + s.snapshot.sha256 + ".tar.zst";
     }},
    {"an empty archive", "snapshot.bytes",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.bytes = 0;
     }},
    {"a huge archive", "snapshot.bytes",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.bytes = 1 << 30;
     }},
    {"a revision of several words", "snapshot.revision",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.revision = "a b";
     }},
    {"a snapshot over the system", "workdir",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.workdir = "/usr/src";
     }},
    {"a snapshot over all", "workdir",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.workdir = "/";
     }},
};

TEST(ValidateSpec, EveryRefusalNamesItsFieldAndAFix) {
  for (const Refusal& refusal : kRefusals) {
    SCOPED_TRACE(refusal.what);
    JobSpec spec = Spec();
    refusal.change(spec);
    const Status status = ValidateSpec(spec);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), "INVALID_SPEC");
    EXPECT_EQ(status.field(), refusal.field);
    EXPECT_NE(status.message(), "");
    EXPECT_NE(status.fix(), "");
  }
}

// Whatever Glim sets itself would be lost in `env`: the table of the variables is the one list.
TEST(ValidateSpec, EveryVariableThatGlimSetsItselfIsRefused) {
  int refused = 0;
  for (const TaskVariableInfo& info : kTaskVariables) {
    JobSpec spec = Spec();
    spec.env = {{info.name, "x"}};
    const bool ours = info.set_by != VariableSetter::kDefault;
    EXPECT_EQ(ValidateSpec(spec).ok(), !ours) << info.name;
    refused += ours;
  }
  EXPECT_GT(refused, 20);
}

TEST(ValidateSpec, WhatIsNoCauseOfRestartsIsToldThoseThatAre) {
  JobSpec spec = Spec();
  spec.restart_on = {"xids"};
  EXPECT_EQ(ValidateSpec(spec).message(), "'xids' is none of: node_failure, xid, network, hang");
  EXPECT_EQ(ValidateSpec(spec).fix(), "did you mean 'xid'?");
}

TEST(ValidateSpec, ARefusalNeverShowsControlCharacters) {
  JobSpec spec = Spec();
  spec.name = "x\x1b[31m";
  const Status status = ValidateSpec(spec);
  EXPECT_EQ(status.message().find('\x1b'), std::string::npos);
}

const std::pair<const char*, std::function<void(JobSpec&)>> kAccepted[] = {
    {"the smallest", [](JobSpec&) {}},
    {"no GPUs, one process a node", [](JobSpec& s) { s.gpus_per_node = 0; }},
    {"the largest gang",
     [](JobSpec& s) {
       s.nodes = 20'000;
       s.gpus_per_node = 64;
     }},
    {"a command of many lines", [](JobSpec& s) { s.run = "set -e\n\tpython a.py\n"; }},
    {"words beyond ASCII in the command", [](JobSpec& s) { s.run = "echo \xe5\xb9\xbb\xe6\x96\xb9"; }},
    {"no grace at all", [](JobSpec& s) { s.grace = s.max_grace = {}; }},
    {"a value of many lines",
     [](JobSpec& s) {
       s.env = {{"A", "1\n2"}, {"_b", ""}};
     }},
    {"every cause of restarts",
     [](JobSpec& s) {
       s.restart_on = {"node_failure", "xid", "network", "hang"};
     }},
    {"no restarts",
     [](JobSpec& s) {
       s.restart_on = {};
       s.restart_max = 0;
     }},
    {"the longest time limit", [](JobSpec& s) { s.time_limit = Hours(24 * 365); }},
    {"the shortest time limit", [](JobSpec& s) { s.time_limit = Seconds(1); }},
    {"as many dependencies as may be",
     [](JobSpec& s) {
       for (std::uint64_t i = 1; i <= 64; ++i) s.after.push_back({JobId(i), DependencyKind::kAny});
     }},
    {"a checkpoint folder for each job", [](JobSpec& s) { s.checkpoint_dir = "/c/${GLIM_JOB_NAME}-$GLIM_JOB_ID"; }},
    {"the root as the workdir", [](JobSpec& s) { s.workdir = "/"; }},
    {"a snapshot", [](JobSpec& s) { s.snapshot = Snapshot(); }},
    {"a snapshot of no repository",
     [](JobSpec& s) {
       s.snapshot = Snapshot();
       s.snapshot.revision = "";
     }},
    {"auto", [](JobSpec& s) { s.priority = PriorityClass::kAuto; }},
};

TEST(ValidateSpec, AcceptsWhatIsWithinBounds) {
  for (const auto& [what, change] : kAccepted) {
    SCOPED_TRACE(what);
    JobSpec spec = Spec();
    change(spec);
    const Status status = ValidateSpec(spec);
    EXPECT_TRUE(status.ok()) << status.field() << ": " << status.message();
  }
}

TEST(ValidateSpec, AmountsAreShownAsTheyAreWritten) {
  JobSpec spec = Spec();
  spec.grace = spec.max_grace = Hours(25);
  EXPECT_EQ(ValidateSpec(spec).message(), "25h is out of range");
  EXPECT_EQ(ValidateSpec(spec).fix(), "use 0s to 1d");
  EXPECT_EQ(CheckAmount("limits.memory", 1024).message(), "1KiB is out of range");
  EXPECT_EQ(CheckAmount("limits.memory", 1024).fix(), "use 16MiB to 1024TiB");
  EXPECT_EQ(CheckAmount("limits.cpus", 5).fix(), "use 0.01 to 4096");
  EXPECT_EQ(CheckAmount("nodes", -4).message(), "-4 is out of range");
}

TEST(ValidateSpec, CausesOfRestartsAreBounded) {
  JobSpec spec = Spec();
  spec.restart_on.assign(100'000, "hang");
  EXPECT_EQ(ValidateSpec(spec).field(), "restart.on");
}

}  // namespace
}  // namespace glim::core
