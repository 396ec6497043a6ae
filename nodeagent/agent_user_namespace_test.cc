// Who a container's processes are, seen from within and from the node: its user is itself, and root is nobody.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "nodeagent/os/user_namespace.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

class AgentUserNamespaceTest : public AgentTest {
 protected:
  std::string Run(const std::string& run, const std::vector<std::string>& options = {},
                  const std::function<void(v1::TaskLaunch&)>& more = {}) {
    StartAgent(options);
    Launch(kKey, run, more);
    Send();
    EXPECT_TRUE(WaitPhase(kKey, kReleased));
    return LogText(kKey, 0);
  }
  std::string FolderOfUser(const std::string& name) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(path);
    EXPECT_EQ(::chown(path.c_str(), kTaskUser.uid, kTaskUser.gid), 0);
    return path;
  }
};

uid_t OwnerOf(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
}

// (The machines that these tests run on have user namespaces, and then containers have them, too.)
TEST_P(AgentUserNamespaceTest, RootIsNobodyAndTheUserIsItself) {
  const std::string work = FolderOfUser("work");
  std::ofstream(folder_ + "/work/roots") << "x";
  const std::string text =
      Run("cat /proc/self/uid_map | tr -s ' '; id -u; echo x > mine; stat -c %u mine roots /usr; "
          "[ -O /proc ] || echo proc-is-not-mine",
          {}, [&](auto& launch) { launch.set_workdir(work); });
  EXPECT_EQ(text,
            " 0 " + std::to_string(kRootInside) + " 1\n 4321 4321 1\n4321\n4321\n65534\n65534\nproc-is-not-mine\n");
  EXPECT_EQ(OwnerOf(work + "/mine"), kTaskUser.uid);
}

TEST_P(AgentUserNamespaceTest, TheOperatorMayDoWithout) {
  const std::string work = FolderOfUser("work");
  const std::string text = Run("cat /proc/self/uid_map | tr -s ' '; stat -c %u /usr; echo x > mine",
                               {"--user-namespace", "no"}, [&](auto& launch) { launch.set_workdir(work); });
  EXPECT_EQ(text, " 0 0 4294967295\n0\n");
  EXPECT_EQ(OwnerOf(work + "/mine"), kTaskUser.uid);
}

// A place for a mount inside another mount of the job's is made with the user's rights, and over no link.
TEST_P(AgentUserNamespaceTest, MakesPlacesInUsersFoldersAsTheUser) {
  const std::string work = FolderOfUser("work"), data = FolderOfUser("data");
  const auto mount = [&](v1::TaskLaunch& launch, const std::string& source, const std::string& target) {
    v1::Mount& added = *launch.add_mounts();
    added.set_source(source);
    added.set_target(target);
  };
  StartAgent();
  const std::string roots = folder_ + "/roots";
  std::filesystem::create_directories(roots);
  std::filesystem::create_directory_symlink("/etc", work + "/link");
  struct Case {
    std::string source, target, said;
  };
  const Case cases[] = {{work, "/out/new/deep", ""},
                        {work, "/out/link/deep", "mounts[1].source " + data + ": there is no place /out/link/deep"},
                        {roots, "/out/new", "mounts[1].source " + data + ": there is no place /out/new"}};
  std::uint64_t job = 20;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.target);
    const TaskKey key{job++, 1, 0};
    Launch(key, "echo x > " + c.target + "/made", [&](auto& launch) {
      mount(launch, c.source, "/out");
      mount(launch, data, c.target);
    });
    Send();
    const auto task = WaitPhase(key, kReleased);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->message().find(c.said), 0u) << task->message();
    EXPECT_EQ(task->start_failed(), !c.said.empty());
    EXPECT_EQ(task->job_fault(), !c.said.empty());
  }
  EXPECT_EQ(OwnerOf(work + "/new/deep"), kTaskUser.uid);
  EXPECT_EQ(OwnerOf(data + "/made"), kTaskUser.uid);
  EXPECT_FALSE(std::filesystem::exists(roots + "/new"));
  EXPECT_FALSE(std::filesystem::exists("/etc/deep"));
}

TEST_P(AgentUserNamespaceTest, WhoHasTheIdThatStandsForRootIsRefused) {
  const std::string id = std::to_string(kRootInside);
  StartAgent({"--task-user", "4321:4321:" + id});
  Launch(kKey, "echo never");
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->job_fault());
  EXPECT_EQ(task->message().find("the id " + id + " stands for root in this node's containers"), 0u) << task->message();
}

// By gaps, so that no two of them are one range.
TEST_P(AgentUserNamespaceTest, GroupsAreTheUsersOwn) {
  std::string groups;
  for (int group = 5000; group < 5200; group += 2) groups += ":" + std::to_string(group);
  const std::string text =
      Run("id -G | wc -w; id -G | tr ' ' '\\n' | sort -n | tail -n 1", {"--task-user", "4321:4322" + groups});
  EXPECT_EQ(text, "101\n5198\n");
}

GLIM_IN_CONTAINERS(AgentUserNamespaceTest);

}  // namespace
}  // namespace glim::nodeagent
