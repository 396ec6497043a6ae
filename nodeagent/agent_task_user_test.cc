// Tasks in containers are the user that the node has for them, and so is what is made for them.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nodeagent/testing/agent_fixture.h"

namespace glim::nodeagent {
namespace {

class AgentTaskUserTest : public AgentTest {
 protected:
  std::string Folder(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(path);
    return path;
  }
};

TEST_P(AgentTaskUserTest, IsWhoTasksAre) {
  const std::string work = Folder("work");
  ASSERT_EQ(::chown(work.c_str(), 4321, 4321), 0);
  StartAgent({"--task-user", "4321:4322"});
  Launch(kKey,
         "id -u; id -g; glim-task progress 5 && echo told; echo x > $GLIM_CHECKPOINT_DIR/x && echo saved;"
         "echo y > y && echo worked; touch /tmp/z && echo tmp",
         [&](auto& launch) {
           launch.set_workdir(work);
           launch.add_env()->set_name("PATH");
           launch.mutable_env(0)->set_value("/usr/bin:/bin");
         });
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(LogText(kKey, 0), "4321\n4322\ntold\nsaved\nworked\ntmp\n");
  EXPECT_EQ(task->ranks(0).step(), 5);
}

// So that a server that trusts nobody's root (NFS, root_squash) lets it be made.
TEST_P(AgentTaskUserTest, ACheckpointFolderIsMadeByItsUserWhereThatOneMay) {
  const std::string own = Folder("own"), roots = Folder("roots");
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);  // the way there is everybody's
  ASSERT_EQ(::chown(own.c_str(), 4321, 4321), 0);
  StartAgent({"--task-user", "4321:4322"});
  const TaskKey other{8, 1, 0};
  for (const auto& [key, path] : {std::pair(kKey, own), std::pair(other, roots)}) {
    Launch(key, "echo x > $GLIM_CHECKPOINT_DIR/x && echo saved",
           [&, to = path + "/a/b"](auto& launch) { launch.set_checkpoint_dir(to); });
  }
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  ASSERT_TRUE(WaitPhase(other, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "saved\n");
  EXPECT_EQ(LogText(other, 0), "saved\n") << "where only root may, root makes it, and gives it to the user";
  const auto owner_of = [](const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_uid) : -1;
  };
  EXPECT_EQ(owner_of(own + "/a"), 4321);
  EXPECT_EQ(owner_of(roots + "/a"), 0);
  EXPECT_EQ(owner_of(roots + "/a/b"), 4321);
}

GLIM_IN_CONTAINERS(AgentTaskUserTest);

}  // namespace
}  // namespace glim::nodeagent
