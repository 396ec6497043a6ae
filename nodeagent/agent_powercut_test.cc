// The agent starts whatever its folder holds: every state that a power cut may leave (a file absent, empty, cut off,
// with pages that were never written), files of another version, and what somebody else put there.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "nodeagent/os/unified_group.h"
#include "nodeagent/sync/desired_store.h"
#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/spare_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnotherBoot = "00000000-1111-2222-3333-444444444444";

// What may become of a file; nothing: it is absent.
using Damage = std::function<std::optional<std::string>(const std::string& whole)>;

struct NamedDamage {
  const char* name;
  Damage damage;
};

const NamedDamage kDamages[] = {
    {"absent", [](const std::string&) { return std::optional<std::string>(); }},
    {"empty", [](const std::string&) { return std::optional<std::string>(""); }},
    {"one byte", [](const std::string& whole) { return std::optional(whole.substr(0, 1)); }},
    {"a quarter", [](const std::string& whole) { return std::optional(whole.substr(0, whole.size() / 4)); }},
    {"half", [](const std::string& whole) { return std::optional(whole.substr(0, whole.size() / 2)); }},
    {"all but a byte", [](const std::string& whole) { return std::optional(whole.substr(0, whole.size() - 1)); }},
    {"never written", [](const std::string& whole) { return std::optional(std::string(whole.size(), '\0')); }},
    {"half written",
     [](const std::string& whole) {
       const std::size_t half = whole.size() / 2;
       return std::optional(whole.substr(0, half) + std::string(whole.size() - half, '\0'));
     }},
    {"another byte",
     [](const std::string& whole) {
       std::string text = whole;
       text[text.size() / 3] = text[text.size() / 3] == '1' ? '2' : '1';
       return std::optional(text);
     }},
};

std::string FileText(const std::string& path) {
  const auto text = ReadFile(path, 1 << 24);
  return text.ok() ? *text : "";
}

void PutText(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Without its checksum, as an earlier version wrote it.
std::string Unsealed(const std::string& text) {
  const std::size_t seal = text.rfind(",\"checksum\"");
  return seal == std::string::npos ? text : text.substr(0, seal) + "}";
}

std::string WithFormat(const std::string& text, int format) {
  std::string other = Unsealed(text);
  const std::size_t at = other.find("\"format\":1");
  return at == std::string::npos ? other : other.replace(at, 10, "\"format\":" + std::to_string(format));
}

class AgentPowerCutTest : public AgentTest {
 protected:
  // A task that runs, all its files written; then the machine "loses its power": everything of it is gone at once.
  void MakeTemplate() {
    StartAgent();
    Launch(kKey, "trap '' TERM; echo up; while :; do sleep 1000; done");
    Send();
    WaitLine(kKey, 0, "up");
    ASSERT_TRUE(WaitPhase(kKey, kRunning));
    Stop(kKey, 600'000);  // writes its record
    Send();
    ASSERT_TRUE(Eventually([&] { return fs::exists(TaskPaths(TaskFolder(kKey)).record()); }));
    KillAgent();
    SignalShim(kKey, SIGKILL);
    const TaskPaths paths(TaskFolder(kKey));
    LaunchSpec spec = *ParseLaunchSpec(FileText(paths.launch()));
    if (!spec.group.empty()) {
      KillGroup(spec.group);
      ASSERT_TRUE(Eventually([&] { return LookAtGroup(spec.group) != GroupState::kPopulated; }));
    }
    ProcessIdentity identity = *ParseProcessIdentity(FileText(paths.identity()));
    identity.boot_id = kAnotherBoot;
    ASSERT_TRUE(WriteSealed(paths.identity(), ToJson(identity), Durability::kProcess).ok());
    if (!fs::exists(paths.ranks())) PutText(paths.ranks(), R"({"format":1,"ranks":[]})");
    scheduler_.Disconnect();
    template_ = folder_ + "/template";
    fs::remove(paths.socket());
    fs::rename(paths.folder, template_);
    set_.clear_tasks();
    ASSERT_TRUE(DesiredStore(state_).Save(v1::DesiredState(), kAnotherBoot, true, spare_).ok());
  }
  // A copy of the template under a number of its own; `ended`: its shim had written how it ended.
  TaskKey Copy(bool ended) {
    const TaskKey key{++last_job_, 1, 0};
    const TaskPaths paths(TaskFolder(key));
    fs::copy(template_, paths.folder, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    LaunchSpec spec = *ParseLaunchSpec(FileText(paths.launch()));
    spec.task = ToString(key);
    if (!spec.group.empty()) spec.group = fs::path(spec.group).parent_path() / spec.task;
    EXPECT_TRUE(WriteSealed(paths.launch(), ToJson(spec), Durability::kProcess).ok());
    if (ended) {
      TaskStatus status = *ParseTaskStatus(FileText(paths.status()));
      status.ended = status.ranks[0].exited = true;
      status.exit_code = status.ranks[0].exit_code = 3;
      EXPECT_TRUE(WriteSealed(paths.status(), ToJson(status), Durability::kMachine).ok());
    }
    return key;
  }
  std::vector<std::string> FilesOf(const TaskKey& key) {
    const TaskPaths paths(TaskFolder(key));
    return {paths.launch(), paths.identity(), paths.status(), paths.record(), paths.ranks(), paths.lock()};
  }
  // The agent starts, says of each task what is expected, and works; when they are unlisted their folders go.
  void ExpectOutcomes(const std::map<TaskKey, std::string>& what) {
    for (const auto& [key, name] : what) Listed(key);
    set_.set_revision(1000);
    Send();  // first of all: what an older set does not list would be forgotten
    StartAgent();
    const auto report = scheduler_.WaitReport([&](const v1::NodeReport& r) {
      return std::all_of(what.begin(), what.end(), [&](const auto& entry) {
        const v1::ObservedTask* task = FindTask(r, entry.first);
        return task && task->phase() == kReleased;
      });
    });
    ASSERT_TRUE(report) << "the agent starts, and all are released";
    for (const auto& [key, name] : what) {
      const v1::ObservedTask* task = FindTask(*report, key);
      if (name.starts_with("ended: ")) {
        EXPECT_FALSE(task->lost()) << name << ": " << task->message();
        EXPECT_EQ(task->exit_code(), 3) << name;
      } else {
        EXPECT_TRUE(task->lost() || task->start_failed()) << name;
        EXPECT_NE(task->message(), "") << name;
      }
    }
    set_.clear_tasks();
    const TaskKey next{8, 1, 0};
    Launch(next, "echo works");
    Send();
    EXPECT_TRUE(WaitPhase(next, kReleased));
    EXPECT_EQ(LogText(next, 0), "works\n");
    const auto cleaned = [&] {
      return std::none_of(what.begin(), what.end(), [&](const auto& e) { return fs::exists(TaskFolder(e.first)); });
    };
    EXPECT_TRUE(Eventually(cleaned));
  }

  SpareFile spare_{folder_ + "/spare", 4096};
  std::string template_;
  std::uint64_t last_job_ = 100;
};

TEST_P(AgentPowerCutTest, EveryStateOfATasksFilesIsStartedFrom) {
  MakeTemplate();
  std::map<TaskKey, std::string> what;
  for (const bool ended : {false, true}) {
    const TaskKey whole = Copy(ended);
    what[whole] = ended ? "ended: whole" : "whole";
    const TaskKey old = Copy(ended);
    for (const std::string& file : FilesOf(old)) PutText(file, Unsealed(FileText(file)));
    what[old] = ended ? "ended: of an earlier version" : "of an earlier version";
    for (std::size_t file = 0; file < FilesOf(whole).size(); ++file) {
      for (const NamedDamage& damage : kDamages) {
        const TaskKey key = Copy(ended);
        const std::string path = FilesOf(key)[file];
        const std::string before = FileText(path);
        if (before.empty() && std::string(damage.name) != "absent") {  // the lock: it holds nothing
          fs::remove_all(TaskFolder(key));
          continue;
        }
        fs::remove(path);
        if (const auto text = damage.damage(before)) PutText(path, *text);
        PutText(path + ".tmp", before.substr(0, before.size() / 2));
        // How it ended is in one file alone.
        const bool known = ended && fs::path(path).filename() != "status.json";
        what[key] = (known ? "ended: " : "") + fs::path(path).filename().string() + " is " + damage.name;
      }
    }
  }
  ExpectOutcomes(what);
  const std::string log = AgentLog();
  EXPECT_NE(log.find("event=file_set_aside"), std::string::npos);
  EXPECT_NE(log.find("set-aside/tasks_"), std::string::npos) << "an operator finds it";
  EXPECT_FALSE(fs::is_empty(state_ + "/set-aside"));
}

TEST_P(AgentPowerCutTest, AnotherVersionsFilesAndStrangeOnesAreSetAside) {
  MakeTemplate();
  std::map<TaskKey, std::string> what;
  for (std::size_t file = 0; file < 3; ++file) {
    const TaskKey key = Copy(false);
    const std::string path = FilesOf(key)[file];
    PutText(path, WithFormat(FileText(path), 2));
    what[key] = fs::path(path).filename().string() + " is of a later version";
  }
  const TaskKey folder = Copy(false);
  fs::remove(TaskPaths(TaskFolder(folder)).launch());
  fs::create_directory(TaskPaths(TaskFolder(folder)).launch());
  what[folder] = "launch.json is a folder";
  PutText(state_ + "/tasks/77.1.0", "a file where a task's folder should be");
  PutText(state_ + "/tasks/notes.txt", "somebody's");
  fs::create_directory(state_ + "/tasks/88.1.0");  // nothing was ever started from it
  ExpectOutcomes(what);
  EXPECT_EQ(FileText(state_ + "/tasks/notes.txt"), "somebody's");
  EXPECT_FALSE(fs::exists(state_ + "/tasks/77.1.0"));
  EXPECT_FALSE(fs::exists(state_ + "/tasks/88.1.0"));
}

// The tasks run on, and the agent hears from the scheduler what is wanted of them.
TEST_P(AgentPowerCutTest, AnyStateOfTheDesiredStateIsStartedFrom) {
  StartAgent();
  Launch(kKey, "echo up; while :; do sleep 1000; done");
  Send();
  WaitLine(kKey, 0, "up");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  int hellos = 1;
  for (const NamedDamage& damage : kDamages) {
    KillAgent();
    const std::string path = state_ + "/desired.pb", before = FileText(path);
    ASSERT_FALSE(before.empty());
    fs::remove(path);
    if (const auto text = damage.damage(before)) PutText(path, *text);
    StartAgent();
    ASSERT_TRUE(scheduler_.WaitHello(++hellos)) << damage.name;
    EXPECT_EQ(scheduler_.last_hello().epoch(), 0u) << damage.name << ": it is not believed";
    const auto runs = [&](const v1::NodeReport& r) {
      const v1::ObservedTask* task = FindTask(r, kKey);
      return r.revision() == set_.revision() && task && task->phase() == kRunning && !task->lost();
    };
    EXPECT_TRUE(scheduler_.WaitReport(runs)) << damage.name;
  }
  KillAgent();
  // As an earlier version wrote it.
  PutText(state_ + "/desired.pb", set_.SerializeAsString());
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(++hellos));
  EXPECT_EQ(scheduler_.last_hello().epoch(), set_.epoch());
}

TEST_P(AgentPowerCutTest, TheClustersNameIsClaimedAnewWhereItsFileIsOfNoUse) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  int hellos = 1;
  const std::string path = state_ + "/cluster", before = FileText(path);
  for (const NamedDamage& damage : kDamages) {
    KillAgent();
    fs::remove(path);
    if (const auto text = damage.damage(before)) PutText(path, *text);
    StartAgent();
    ASSERT_TRUE(scheduler_.WaitHello(++hellos)) << damage.name << ": " << AgentLog();
    EXPECT_EQ(scheduler_.last_hello().cluster_id(), "test");
  }
  EXPECT_EQ(FileText(path), before);
  KillAgent();
  PutText(path, "test");  // as an earlier version wrote it
  cluster_ = "";
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(++hellos));
  EXPECT_EQ(scheduler_.last_hello().cluster_id(), "test");
}

// The order was on the disk before it was carried out, the task's folder was not.
TEST_P(AgentPowerCutTest, WhatWasOrderedBeforeIsNotStartedASecondTime) {
  Launch(kKey, "echo started");
  set_.set_revision(1);
  fs::create_directory(state_);
  fs::permissions(state_, fs::perms::owner_all);
  ASSERT_TRUE(DesiredStore(state_).Save(set_, kAnotherBoot, true, spare_).ok());
  StartAgent();
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->lost());
  EXPECT_NE(task->message().find("started anew"), std::string::npos);
  EXPECT_EQ(LogText(kKey, 0), "");
}

// Not after a power cut: its processes live. (An operator goes back to an earlier version, or a disk fails.)
TEST_P(AgentPowerCutTest, ALivingTaskOfUnusableFilesIsLostAndEnded) {
  StartAgent();
  for (std::size_t file = 0; file < 3; ++file) {
    const TaskKey key{20 + file, 1, 0};
    Launch(key, "trap '' TERM; echo pid $$; while :; do sleep 1000; done");
    Send();
    const pid_t rank = WaitPid(key, 0, "pid ");
    ASSERT_GT(rank, 0);
    // Its shim writes status.json no more: it has noted the first output.
    ASSERT_TRUE(
        WaitTask(key, [](const v1::ObservedTask& t) { return t.phase() == kRunning && t.first_output_ms() > 0; }));
    KillAgent();
    const std::string path = FilesOf(key)[file];
    PutText(path, WithFormat(FileText(path), 2));
    StartAgent();
    ASSERT_TRUE(WaitTask(key, [](const v1::ObservedTask& t) {
      return t.lost() && t.phase() == v1::ObservedTask::EXITED && t.pids_size() > 0;
    })) << path;
    EXPECT_TRUE(IsRunning(rank)) << "nobody asked for a stop";
    Stop(key, 0);
    Send();
    ASSERT_TRUE(WaitPhase(key, kReleased)) << path;
    EXPECT_FALSE(IsRunning(rank));
    set_.clear_tasks();
    Send();
    EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
    EXPECT_TRUE(Eventually([&] { return NoGroup("/" + ToString(key)) && !fs::exists(TaskFolder(key)); }));
  }
}

GLIM_FOR_EACH_RUNTIME(AgentPowerCutTest);

}  // namespace
}  // namespace glim::nodeagent
