// A task in a container has its user's rights and no more: of its job's user, as the registry has it, or of whom the
// operator names for those who are not in it. So does what the agent does for it at the paths that the job names.
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nodeagent/options/secrets_folder.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

const TaskUser kAna{987'654'001, 987'654'100, {987'654'200}};
const TaskUser kBen{987'654'002, 987'654'101, {987'654'201}};
const TaskKey kOther{8, 1, 0};

class AgentTaskUserTest : public AgentTest {
 protected:
  // Below the jobs' folder, whose way is everybody's.
  std::string Folder(const std::string& name, uid_t uid, gid_t gid, mode_t mode) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(path);
    EXPECT_EQ(::chown(path.c_str(), uid, gid), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string Folder(const std::string& name, const TaskUser& user, mode_t mode = 0700) {
    return Folder(name, user.uid, user.gid, mode);
  }
  // A launch of the user's.
  void LaunchOf(const TaskKey& key, const std::string& name, const TaskUser& user, const std::string& run,
                const std::function<void(v1::TaskLaunch&)>& more = {}) {
    Launch(key, run, [&](v1::TaskLaunch& launch) {
      launch.set_user(name);
      launch.mutable_task_user()->set_uid(user.uid);
      launch.mutable_task_user()->set_gid(user.gid);
      for (const gid_t id : user.groups) launch.mutable_task_user()->add_groups(id);
      if (more) more(launch);
    });
  }
  std::string FailedStart(const TaskKey& key) {
    Send();
    const auto task = WaitPhase(key, kReleased);
    if (!task || !task->start_failed()) return "it started";
    failed_ = *task;
    return task->message();
  }
  static struct stat InfoOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }

  v1::ObservedTask failed_;
};

void SetPath(v1::TaskLaunch& launch) {
  v1::EnvVar& path = *launch.add_env();
  path.set_name("PATH");
  path.set_value("/usr/bin:/bin");
}

TEST_P(AgentTaskUserTest, IsItsJobsUserWithTheGroupsOfTheRegistry) {
  StartAgent();
  const std::string work = Folder("work", kAna);
  LaunchOf(kKey, "ana", kAna,
           "id -u; id -g; id -G; echo $USER; glim-task progress 5 && echo told; echo x > $GLIM_CHECKPOINT_DIR/x && "
           "echo saved; echo y > y && echo worked; touch /tmp/z && echo tmp; cat $GLIM_HOSTS_FILE > /dev/null && "
           "echo hosts",
           [&](auto& launch) {
             launch.set_workdir(work);
             SetPath(launch);
           });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "987654001\n987654100\n987654100 987654200\nana\ntold\nsaved\nworked\ntmp\nhosts\n");
  EXPECT_EQ(task->ranks(0).step(), 5);
  EXPECT_EQ(InfoOf(work + "/y").st_uid, kAna.uid);
  EXPECT_EQ(InfoOf(work + "/y").st_gid, kAna.gid);
}

// ssh, git over ssh, getpwuid and whatever publishes its own address ask for these.
TEST_P(AgentTaskUserTest, ItsUserItsGroupsAndItsHostHaveNames) {
  StartAgent();
  LaunchOf(kKey, "ana", kAna,
           "whoami; id -gn; id -Gn; python3 -c 'import os, pwd, socket; print(pwd.getpwuid(os.getuid())[5], "
           "bool(socket.gethostbyname(socket.gethostname())))'; getent passwd root > /dev/null && echo root; "
           "echo x >> /etc/passwd || echo read-only",
           [](v1::TaskLaunch& launch) { SetPath(launch); });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task && !task->start_failed()) << task->message();
  std::string log = LogText(kKey, 0);
  if (const std::size_t at = log.find("/bin/bash:"); at != std::string::npos)
    log.erase(at, log.find('\n', at) + 1 - at);
  EXPECT_EQ(log, "ana\nana\nana glim-987654200\n/tmp True\nroot\nread-only\n");
}

TEST_P(AgentTaskUserTest, IsWhomTheOperatorNamesWhereTheRegistryHasNoUid) {
  StartAgent({"--task-user", "4321:4322:4323"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_FALSE(scheduler_.last_hello().needs_uid());
  EXPECT_FALSE(scheduler_.last_hello().has_only_uid());
  Launch(kKey, "id -u; id -g; id -G");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "4321\n4322\n4322 4323\n");
}

TEST_P(AgentTaskUserTest, WithoutOneANodeRunsNoJobOfSuchAUser) {
  StartAgent({"--task-user", ""});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_TRUE(scheduler_.last_hello().needs_uid());
  Launch(kKey, "echo never", [](auto& launch) { launch.set_user("kim"); });
  EXPECT_EQ(FailedStart(kKey),
            "user kim has no uid in the registry, and this node has no --task-user to run such jobs as: "
            "give the user one with `glim admin user set NAME --uid UID --gid GID`");
  EXPECT_FALSE(failed_.job_fault()) << "another node may have one";
}

TEST_P(AgentTaskUserTest, IsNeverRootWhateverTheRegistryHolds) {
  StartAgent();
  const TaskUser users[] = {{0, 100, {}}, {1001, 0, {}}, {1001, 100, {0}}};
  std::uint64_t job = 20;
  for (const TaskUser& user : users) {
    const TaskKey key{job++, 1, 0};
    LaunchOf(key, "kim", user, "echo never");
    EXPECT_NE(FailedStart(key).find(" in the registry: no job has root's rights"), std::string::npos);
    EXPECT_TRUE(failed_.job_fault());
  }
}

// Of an account that every Debian has.
TEST_P(AgentTaskUserTest, WhoIsSomebodyElseOnTheNodeDoesNotStart) {
  StartAgent();
  const passwd* daemon = ::getpwnam("daemon");
  ASSERT_NE(daemon, nullptr);
  const uid_t uid = daemon->pw_uid;
  const gid_t gid = daemon->pw_gid;
  const std::string number = std::to_string(uid);
  const struct {
    const char* name;
    TaskUser user;
    std::string says;
  } cases[] = {{"daemon", kAna, "user daemon has uid 987654001 in the registry and " + number + " on node node-1"},
               {"daemon",
                {uid, kAna.gid, {}},
                "user daemon has gid 987654100 in the registry and " + std::to_string(gid) + " on node node-1"},
               {"kim", {uid, gid, {}}, "uid " + number + " is kim in the registry and daemon on node node-1"}};
  std::uint64_t job = 20;
  for (const auto& one : cases) {
    const TaskKey key{job++, 1, 0};
    LaunchOf(key, one.name, one.user, "echo never",
             [&](auto& launch) { launch.set_checkpoint_dir(folder_ + "/never"); });
    EXPECT_TRUE(FailedStart(key).starts_with(one.says + ": ")) << failed_.message();
    EXPECT_FALSE(failed_.job_fault() || failed_.path_missing()) << "the node's fault";
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/never"));
  LaunchOf(kKey, "daemon", {uid, gid, {}}, "id -u");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), number + "\n");
}

// A directory that does not answer holds up neither the agent nor the start for ever.
TEST_P(AgentTaskUserTest, AccountsThatHangFailTheStartInTime) {
  StartAgent({"--path-seconds", "1"}, {"/usr/bin/unshare", "--mount", "--propagation", "private"});
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const std::string fifo = root_ + "/passwd";  // whoever opens it waits
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  const std::vector<std::string> mount = {"/usr/bin/nsenter", "-t", std::to_string(agent_), "-m", "/bin/mount",
                                          "--bind",           fifo, "/etc/passwd"};
  ASSERT_EQ(*RunProgram(mount, "/dev/null"), 0);
  LaunchOf(kKey, "ana", kAna, "echo never");
  EXPECT_EQ(FailedStart(kKey).find("this node's accounts do not answer: 1 s were waited for it"), 0u)
      << failed_.message();
  EXPECT_FALSE(failed_.job_fault() || failed_.path_missing());
}

TEST_P(AgentTaskUserTest, AGroupsFolderIsItsMembersAndNobodyElses) {
  StartAgent();
  const std::string shared = Folder("shared", 0, 987'654'200, 0770), secret = Folder("secret", 0, 987'654'201, 0770);
  for (const std::string& folder : {shared, secret}) {
    std::filesystem::create_directory(folder + "/open");
    ASSERT_TRUE(
        WriteFileAtomically(folder + "/open/word", "found\n", WriteOptions{Durability::kProcess, 0644, false}).ok());
  }
  const auto mount = [](v1::TaskLaunch& launch, const std::string& source) {
    launch.add_mounts()->set_source(source);
    launch.mutable_mounts(0)->set_target("/in");
  };
  LaunchOf(kKey, "ana", kAna, "cat /in/open/word; echo x > /in/x && echo written",
           [&](auto& launch) { mount(launch, shared); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "found\nwritten\n");
  // The folder itself: it is shown, and is closed. What is open to all behind it: it is not reached.
  LaunchOf(kOther, "ana", kAna, "ls /in 2>&1 | grep -c denied", [&](auto& launch) { mount(launch, secret); });
  Send();
  ASSERT_TRUE(WaitPhase(kOther, kReleased));
  EXPECT_EQ(LogText(kOther, 0), "1\n");
  const TaskKey behind{9, 1, 0};
  LaunchOf(behind, "ana", kAna, "cat /in/word", [&](auto& launch) { mount(launch, secret + "/open"); });
  EXPECT_TRUE(FailedStart(behind).starts_with("mounts[0].source " + secret +
                                              "/open cannot be used on this node: Permission denied for uid 987654001"))
      << failed_.message();
  EXPECT_TRUE(failed_.path_missing()) << "counted as a path that is not there";
  EXPECT_NE(failed_.message().find("namei -l"), std::string::npos) << failed_.message();
  const TaskKey member{10, 1, 0};
  LaunchOf(member, "ana", kAna, "cat /in/word", [&](auto& launch) { mount(launch, shared + "/open"); });
  Send();
  ASSERT_TRUE(WaitPhase(member, kReleased));
  EXPECT_EQ(LogText(member, 0), "found\n") << "behind a folder that the group may pass";
}

TEST_P(AgentTaskUserTest, ACheckpointFolderIsMadeWhereItsUserMayAndForItWhereThePolicySaysSo) {
  StartAgent();
  const std::string own = Folder("own", kAna), roots = Folder("roots", 0, 0, 0755);
  LaunchOf(kKey, "ana", kAna, "echo x > $GLIM_CHECKPOINT_DIR/x && echo saved",
           [&](auto& launch) { launch.set_checkpoint_dir(own + "/a/b"); });
  LaunchOf(kOther, "ana", kAna, "echo x > $GLIM_CHECKPOINT_DIR/x && echo saved", [&](auto& launch) {
    launch.set_checkpoint_dir(roots + "/jobs/8");
    launch.set_checkpoint_root(true);
  });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  ASSERT_TRUE(WaitPhase(kOther, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "saved\n");
  EXPECT_EQ(LogText(kOther, 0), "saved\n");
  EXPECT_EQ(InfoOf(own + "/a").st_uid, kAna.uid);
  EXPECT_EQ(InfoOf(roots + "/jobs").st_uid, 0u);
  EXPECT_EQ(InfoOf(roots + "/jobs/8").st_uid, kAna.uid);
  EXPECT_EQ(InfoOf(roots + "/jobs/8").st_mode & 07777, 0700u);
  // All may pass the folder of the jobs: what is in it is found, and closed.
  const TaskKey thief{10, 1, 0};
  LaunchOf(thief, "ben", kBen, "cat /in/x 2>&1", [&](auto& launch) {
    launch.add_mounts()->set_source(roots + "/jobs/8");
    launch.mutable_mounts(0)->set_target("/in");
  });
  Send();
  ASSERT_TRUE(WaitPhase(thief, kReleased));
  EXPECT_EQ(LogText(thief, 0), "cat: /in/x: Permission denied\n");
  const TaskKey named{9, 1, 0};
  LaunchOf(named, "ana", kAna, "echo never", [&](auto& launch) { launch.set_checkpoint_dir(roots + "/named"); });
  EXPECT_TRUE(FailedStart(named).starts_with("checkpoint.dir " + roots + "/named cannot be used on this node: "))
      << failed_.message();
  EXPECT_FALSE(std::filesystem::exists(roots + "/named"));
}

TEST_P(AgentTaskUserTest, SavesAreTheirUsersAloneUnlessTheOperatorSharesThemWithTheGroup) {
  for (const bool shared : {false, true}) {
    StartAgent(shared ? std::vector<std::string>{"--saves-group-readable=true"} : std::vector<std::string>());
    const mode_t wanted = shared ? 02750 : 0700;
    const TaskKey own{shared ? 31U : 30U, 1, 0}, named{shared ? 33U : 32U, 1, 0};
    const std::string folder = Folder("named-" + std::to_string(shared), kAna) + "/ckpt";
    LaunchOf(own, "ana", kAna, "true");
    LaunchOf(named, "ana", kAna, "true", [&](auto& launch) { launch.set_checkpoint_dir(folder); });
    Send();
    ASSERT_TRUE(WaitPhase(own, kReleased));
    ASSERT_TRUE(WaitPhase(named, kReleased));
    for (const std::string& path : {state_ + "/checkpoints/" + std::to_string(own.job), folder}) {
      const struct stat info = InfoOf(path);
      EXPECT_EQ(info.st_mode & 07777, wanted) << path;
      EXPECT_EQ(info.st_uid, kAna.uid) << path;
      EXPECT_EQ(info.st_gid, kAna.gid) << path;
    }
    KillAgent();
    set_.clear_tasks();
  }
}

// What Ana's task can reach of Ben's, which runs beside it: its folders by their paths, and through /proc.
TEST_P(AgentTaskUserTest, TwoUsersTasksReachNothingOfEachOther) {
  StartAgent();
  LaunchOf(kOther, "ben", kBen,
           "echo secret > /tmp/word; echo secret > $GLIM_CHECKPOINT_DIR/word; echo printed; exec sleep 1000",
           [](auto& launch) {
             launch.add_secrets()->set_name("key");
             launch.mutable_secrets(0)->set_value("secret");
           });
  Send();
  WaitLine(kOther, 0, "printed");
  const TaskPaths paths(TaskFolder(kOther));
  const std::string secrets = SecretsFolder(state_) + "/" + ToString(kOther);
  // (As it is outside of any container, which would have to be left first.)
  const std::vector<std::string> as_ana = {"/usr/bin/setpriv",
                                           "--reuid",
                                           std::to_string(kAna.uid),
                                           "--regid",
                                           std::to_string(kAna.gid),
                                           "--groups",
                                           std::to_string(kAna.groups[0]),
                                           "/bin/sh",
                                           "-c"};
  const auto may = [&](const std::string& command) {
    std::vector<std::string> words = as_ana;
    words.push_back(command);
    return *RunProgram(words, "/dev/null") == 0;
  };
  ASSERT_TRUE(may("ls " + folder_));
  for (const std::string& path :
       {paths.folder, paths.run(), paths.socket(), paths.tmp() + "/word", paths.launch(), paths.hosts(),
        state_ + "/checkpoints/8/word", state_ + "/logs/8-1/rank-0.log", state_ + "/logs", secrets + "/secrets/key"}) {
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_FALSE(may("cat " + path + " || ls " + path)) << path;
  }
  // And where the way there were open, by the files' own modes.
  for (const std::string& path :
       {paths.run(), paths.socket(), paths.hosts(), state_ + "/checkpoints/8", secrets, secrets + "/secrets/key"}) {
    const struct stat info = InfoOf(path);
    EXPECT_EQ(info.st_uid, kBen.uid) << path;
    EXPECT_EQ(info.st_mode & 077, 0u) << path;
  }
  const std::string state = state_;
  LaunchOf(kKey, "ana", kAna,
           "ls " + state + " " + paths.run() + " /run/glim/private 2>/dev/null; ls -d /proc/[0-9]* | wc -l; " +
               "cat /tmp/word 2>/dev/null; echo done");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0).find("secret"), std::string::npos) << LogText(kKey, 0);
  EXPECT_TRUE(LogText(kKey, 0).ends_with("done\n"));
  Stop(kOther, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kOther, kReleased));
}

// An agent that was killed meanwhile knows from the launch whose task it is, whatever it is started with.
TEST_P(AgentTaskUserTest, StaysWhoItIsOverARestartOfTheAgent) {
  StartAgent();
  LaunchOf(kKey, "ana", kAna, "echo up; read go < " + folder_ + "/go; glim-task progress 5 && echo told", SetPath);
  ASSERT_EQ(::mkfifo((folder_ + "/go").c_str(), 0600), 0);
  ASSERT_EQ(::chown((folder_ + "/go").c_str(), kAna.uid, kAna.gid), 0);
  Listed(kKey).mutable_launch()->set_workdir(folder_);
  Send();
  WaitLine(kKey, 0, "up");
  KillAgent();
  StartAgent({"--task-user", "4999:4999"});
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(InfoOf(TaskPaths(TaskFolder(kKey)).socket()).st_uid, kAna.uid);
  const int go = ::open((folder_ + "/go").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::write(go, "go\n", 3), 3);
  ::close(go);
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "up\ntold\n");
  EXPECT_EQ(task->ranks(0).step(), 5);
}

GLIM_IN_CONTAINERS(AgentTaskUserTest);

class AgentPlainUserTest : public AgentTest {};

TEST_P(AgentPlainUserTest, SaysWhoseJobsItRuns) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_FALSE(scheduler_.last_hello().has_only_uid()) << "--any-user";
  KillAgent();
  StartAgent({"--any-user=false"});
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(scheduler_.last_hello().only_uid(), ::geteuid());
  Launch(kKey, "echo never", [](auto& launch) { launch.mutable_task_user()->set_uid(::geteuid() + 1); });
  Listed(kKey).mutable_launch()->mutable_task_user()->set_gid(100);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->message().starts_with("this node runs plain processes, and so jobs of the user with uid "))
      << task->message();
  EXPECT_FALSE(task->job_fault()) << "another node may run it";
}

INSTANTIATE_TEST_SUITE_P(Processes, AgentPlainUserTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::nodeagent
