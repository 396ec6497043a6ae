// A task whose code is a snapshot: it runs the archive's content, whatever the workdir has become, and a bad archive is
// a failed start that says so.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/archive.h"
#include "sdk/snapshot/sha256.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;
using Kind = snapshot::Entry::Kind;

class AgentSnapshotTest : public AgentTest {
 protected:
  AgentSnapshotTest() : workdir_(folder_ + "/work") {
    Folder("work/lib");
    Write(workdir_ + "/run.sh", "#!/bin/sh\necho old code\n", 0755);
    Write(workdir_ + "/lib/data", "kept\n", 0640);
    fs::create_symlink("lib/data", workdir_ + "/link");
    own_ = root_ + "/shared/snapshots/" + std::to_string(::geteuid());
    fs::create_directories(own_);
  }

  static void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  // The archive's path.
  std::string Pack() {
    const auto packed = snapshot::Pack(
        workdir_, {{"lib", Kind::kFolder}, {"lib/data", Kind::kFile}, {"link", Kind::kLink}, {"run.sh", Kind::kFile}});
    EXPECT_TRUE(packed.ok());
    return Store(packed->bytes, snapshot::Sha256Hex(packed->bytes));
  }
  // In the folder of who submits, which here is who the agent is.
  std::string PathOf(const std::string& sha256) const { return SnapshotPath(root_ + "/shared", ::geteuid(), sha256); }
  std::string Store(const std::string& bytes, const std::string& sha256) {
    const std::string path = PathOf(sha256);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  void LaunchIn(const TaskKey& key, const std::string& run, const std::string& archive) {
    Launch(key, run, [&](v1::TaskLaunch& launch) {
      launch.set_workdir(workdir_);
      launch.set_snapshot(archive);
    });
    Send();
  }

  const std::string workdir_;
  std::string own_;  // where the archives lie
};

TEST_P(AgentSnapshotTest, RunsTheArchiveWhateverHasBecomeOfTheWorkdir) {
  StartAgent();
  const std::string archive = Pack();
  fs::remove_all(workdir_);
  LaunchIn(kKey,
           "./run.sh; cat link; pwd; echo $GLIM_WORKDIR; stat -c '%a %u' run.sh lib/data;"
           "echo x > lib/made && echo made",
           archive);
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->start_failed()) << task->message();
  const std::string seen = in_container() ? workdir_ : TaskFolder(kKey) + "/code";
  const std::string user = std::to_string(in_container() ? kTaskUser.uid : ::geteuid());
  EXPECT_EQ(LogText(kKey, 0), "old code\nkept\n" + seen + "\n" + seen + "\n755 " + user + "\n640 " + user + "\nmade\n");
}

TEST_P(AgentSnapshotTest, EveryAttemptHasACopyOfItsOwnThatGoesWithTheTask) {
  StartAgent();
  const std::string archive = Pack();
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    const TaskKey key{7, attempt, 0};
    LaunchIn(key, "[ -e made ] && echo somebody was here; echo x > made; echo new > run.sh; cat lib/data", archive);
    ASSERT_TRUE(WaitPhase(key, kReleased));
    EXPECT_EQ(LogText(key, 0), "kept\n");
    Unlist(key);
    Send();
    EXPECT_TRUE(Eventually([&] { return !fs::exists(TaskFolder(key)); }));
  }
  EXPECT_EQ(*ReadFile(workdir_ + "/run.sh", 100), "#!/bin/sh\necho old code\n") << "the folder itself is left alone";
}

TEST_P(AgentSnapshotTest, ALaunchTouchesTheArchive) {
  StartAgent();
  const std::string archive = Pack();
  fs::last_write_time(archive, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  LaunchIn(kKey, "true", archive);
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_GT(fs::last_write_time(archive), fs::file_time_type::clock::now() - std::chrono::hours(1));
}

TEST_P(AgentSnapshotTest, AnArchiveThatCannotBeUsedIsAFailedStartThatSaysWhy) {
  StartAgent();
  const std::string good = Pack();
  const std::string bytes = *ReadFile(good, 1 << 20);
  std::string corrupt = bytes;
  corrupt[corrupt.size() / 2] ^= 1;
  const std::string none(64, '0'), text = "no archive at all";
  const std::string fifo = PathOf(std::string(64, '1'));
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  const std::string link = PathOf(std::string(64, '2'));
  fs::create_symlink(good, link);
  const std::pair<std::string, std::string> cases[] = {
      {PathOf(none), "it cannot be opened: No such file or directory"},
      {Store(corrupt, std::string(64, 'a')), "it is corrupt: its bytes do not have the hash that is its name"},
      {Store(text, snapshot::Sha256Hex(text)), "it is no archive of code"},
      {fifo, "it is no file"},
      {link, "it cannot be opened"},
      {root_ + "/shared/" + none + ".tar.zst", "is no archive below a checkpoint root"},
      {root_ + "/shared/snapshots/kim/" + none + ".tar.zst", "is no archive below a checkpoint root"},
      {"snapshots/" + none + ".tar.zst", "is no archive below a checkpoint root"},
  };
  std::uint64_t job = 20;
  for (const auto& [archive, said] : cases) {
    SCOPED_TRACE(said);
    const TaskKey key{job++, 1, 0};
    LaunchIn(key, "echo never", archive);
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_TRUE(task->start_failed());
    // Another node, or a repaired file system, may do better; but an order that names no archive is nobody else's
    // fault.
    EXPECT_EQ(task->job_fault(), said == "is no archive below a checkpoint root");
    EXPECT_NE(task->message().find(said), std::string::npos) << task->message();
    EXPECT_EQ(LogText(key, 0), "");
  }
}

// A job that was queued when archives lay in `snapshots` itself names one there.
TEST_P(AgentSnapshotTest, AnArchiveOfAVersionBeforeIsRun) {
  StartAgent();
  const std::string before = root_ + "/shared/snapshots/" + fs::path(Pack()).filename().string();
  fs::rename(Pack(), before);
  LaunchIn(kKey, "./run.sh", before);
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "old code\n");
}

// Beside the agent's real programs a glim-unpack that never comes to an end, as on a file system that hangs.
class AgentHungSnapshotTest : public AgentSnapshotTest {
 protected:
  AgentHungSnapshotTest() {
    const std::string bin = folder_ + "/bin";
    fs::create_directory(bin);
    for (const char* program : {"glim-init", "glim-paths", "glim-task", "glim-shim"}) {
      fs::create_symlink(BuiltFile("bin/") + program, bin + "/" + program);
    }
    Write(bin + "/glim-unpack", "#!/bin/sh\necho $$ > " + folder_ + "/unpacking\nexec sleep 1000\n", 0755);
    StartAgent({"--shim", bin + "/glim-shim"});
    LaunchIn(kKey, "echo never", Pack());
  }
  pid_t Unpacking() {
    pid_t pid = 0;
    EXPECT_TRUE(Eventually([&] {
      std::ifstream(folder_ + "/unpacking") >> pid;
      return pid != 0;
    }));
    return pid;
  }
};

TEST_P(AgentHungSnapshotTest, TheTaskIsStartingMeanwhileAndOthersRun) {
  const pid_t unpacking = Unpacking();
  const TaskKey other{8, 1, 0};
  Launch(other, "echo ran");
  Send();
  ASSERT_TRUE(WaitPhase(other, kReleased));
  EXPECT_EQ(LogText(other, 0), "ran\n");
  const auto task = WaitTask(kKey, [](const auto&) { return true; });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->phase(), v1::ObservedTask::STARTING);
  EXPECT_TRUE(IsRunning(unpacking));
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
}

TEST_P(AgentHungSnapshotTest, AStopEndsTheUnpacking) {
  const pid_t unpacking = Unpacking();
  Stop(kKey, 1000);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->start_failed());
  EXPECT_EQ(task->message(), "it was stopped while its code was unpacked");
  EXPECT_FALSE(IsRunning(unpacking));
  EXPECT_EQ(LogText(kKey, 0), "");
}

TEST_P(AgentHungSnapshotTest, AnAgentThatIsKilledMeanwhileLeavesNothingBehind) {
  const pid_t unpacking = Unpacking();
  KillAgent();
  StartAgent();
  const auto task = WaitTask(kKey, [](const v1::ObservedTask& t) { return t.start_failed(); });
  ASSERT_TRUE(task);
  EXPECT_EQ(task->phase(), v1::ObservedTask::EXITED) << "it is not released while something of it runs";
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_FALSE(IsRunning(unpacking));
}

TEST_P(AgentHungSnapshotTest, AnAgentThatEndsMeanwhileTakesTheUnpackingWithIt) {
  const pid_t unpacking = Unpacking();
  EXPECT_EQ(EndAgent(), 0);
  // Killed, and not waited for: the agent may be gone first.
  EXPECT_TRUE(Eventually([&] { return !IsRunning(unpacking); }));
}

// A process is the agent's own user, and sees no mounts but those that are there.
class AgentSnapshotContainerTest : public AgentSnapshotTest {};

TEST_P(AgentSnapshotContainerTest, TheCodeBelongsToTheTasksUser) {
  StartAgent();
  const std::string archive = Pack();
  ASSERT_EQ(::chmod(archive.c_str(), 0600), 0);
  ASSERT_TRUE(GiveToUser(kTaskUser, archive).ok());
  LaunchIn(kKey, "stat -c '%u:%g' . run.sh lib link; ./run.sh; echo x > made && echo made", archive);
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "4321:4322\n4321:4322\n4321:4322\n4321:4322\nold code\nmade\n") << task->message();
}

// Who may list the archives knows their names, and no name is a right then.
TEST_P(AgentSnapshotContainerTest, AnotherUsersCodeIsRunByWhoKnowsItsHashAlone) {
  StartAgent();
  const std::string archive = Pack();
  ASSERT_EQ(::chmod(archive.c_str(), 0600), 0);
  const TaskKey listed{8, 1, 0};
  LaunchIn(listed, "echo never", archive);
  const auto refused = WaitPhase(listed, kReleased);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message().find("it cannot be opened: Permission denied"), std::string::npos) << refused->message();
  fs::permissions(own_, fs::perms(0700));
  LaunchIn(kKey, "./run.sh", archive);
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "old code\n");
}

// Who submits first must not own where all others' code lies.
TEST_P(AgentSnapshotContainerTest, AnArchiveInAFolderOfAUsersIsNotUnpacked) {
  StartAgent();
  const std::string archive = Pack();
  ASSERT_EQ(::chmod(archive.c_str(), 0644), 0);
  std::uint64_t job = 20;
  for (const std::string& folder : {root_ + "/shared/snapshots", own_}) {
    const TaskKey key{job++, 1, 0};
    ASSERT_EQ(::chown(folder.c_str(), 61002, 61002), 0);
    LaunchIn(key, "echo never", archive);
    const auto refused = WaitPhase(key, kReleased);
    ASSERT_TRUE(refused);
    EXPECT_NE(refused->message().find(folder + " belongs to uid 61002: an operator removes it or takes it"),
              std::string::npos)
        << refused->message();
    ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
  }
}

TEST_P(AgentSnapshotContainerTest, AUsersArchiveLiesInAFolderThatIsTheUsersAlone) {
  StartAgent();
  const std::string users = root_ + "/shared/snapshots/" + std::to_string(kTaskUser.uid);
  const std::string archive = users + "/" + fs::path(Pack()).filename().string();
  fs::rename(own_, users);
  for (const std::string& path : {archive, users}) {
    ASSERT_EQ(::chown(path.c_str(), kTaskUser.uid, kTaskUser.gid), 0);
    fs::permissions(path, fs::perms(0700));
  }
  fs::permissions(root_ + "/shared/snapshots", fs::perms(01733));
  LaunchIn(kKey, "./run.sh", archive);
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "old code\n") << task->message();
}

TEST_P(AgentSnapshotContainerTest, MountsMayLieInTheCode) {
  StartAgent();
  const std::string archive = Pack(), data = Folder("data");
  Write(data + "/set", "numbers\n");
  Launch(kKey, "cat set/set run.sh; echo c > $GLIM_CHECKPOINT_DIR/c", [&](v1::TaskLaunch& launch) {
    launch.set_workdir(workdir_);
    launch.set_snapshot(archive);
    launch.set_checkpoint_dir(workdir_ + "/ckpt");
    v1::Mount& inside = *launch.add_mounts();
    inside.set_source(data);
    inside.set_target(workdir_ + "/set");
    v1::Mount& same = *launch.add_mounts();  // the code lies over it
    same.set_source(data);
    same.set_target(workdir_);
  });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "numbers\n#!/bin/sh\necho old code\n") << task->message();
  const auto saved = ReadFile(workdir_ + "/ckpt/c", 10);
  EXPECT_TRUE(saved.ok()) << "the job's mount of the whole folder is hidden by the code: it has one of its own";
}

GLIM_FOR_EACH_RUNTIME(AgentSnapshotTest);
GLIM_IN_CONTAINERS(AgentSnapshotContainerTest);
GLIM_FOR_EACH_RUNTIME(AgentHungSnapshotTest);

}  // namespace
}  // namespace glim::nodeagent
