// A user who may write in a folder that the node gives to jobs swaps parts of a path for links while a task starts:
// what was checked is what the task gets, or the start fails.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nodeagent/os/testing/path_swapper.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr int kStarts = 10;  // of each kind; one in four used to get out

class AgentPathRaceTest : public AgentTest {
 protected:
  AgentPathRaceTest() : name_(folder_ + "/data") {
    char outside[] = "/var/tmp/glim-race-XXXXXX";
    outside_ = ::mkdtemp(outside);
    Folder("data");
    fs::create_directory_symlink(outside_, folder_ + "/link");
    for (const auto& [place, word] : {std::pair(name_, "given\n"), std::pair(outside_, "secret\n")}) {
      const WriteOptions readable{Durability::kProcess, 0644, false};
      EXPECT_TRUE(WriteFileAtomically(place + "/word", word, readable).ok());
    }
    fs::permissions(outside_, fs::perms::all);  // what keeps tasks out is not its mode
  }
  ~AgentPathRaceTest() override { fs::remove_all(outside_); }

  // Starts tasks while the folder is swapped; none may see or change what lies outside.
  void Race(const std::string& run, const std::function<void(v1::TaskLaunch&)>& more) {
    StartAgent();
    {
      const PathSwapper swapper(name_, folder_ + "/link");
      for (std::uint64_t job = 100; job < 100 + kStarts; ++job) {
        Start({job, 1, 0}, run, more);
        EXPECT_THAT(LogText({job, 1, 0}, 0), testing::Not(testing::HasSubstr("secret")));
      }
      EXPECT_GT(swapper.swaps(), 1000);
    }
    EXPECT_THAT(Entries(outside_), testing::ElementsAre("word")) << "something was made outside";
    if (fs::is_symlink(name_)) {
      ASSERT_TRUE(ExchangeNames(name_, folder_ + "/link"));
    }
    const auto task = Start(kKey, run, more);
    EXPECT_TRUE(task && !task->start_failed() && task->exit_code() == 0) << "left alone, it is given";
  }
  std::optional<v1::ObservedTask> Start(const TaskKey& key, const std::string& run,
                                        const std::function<void(v1::TaskLaunch&)>& more) {
    set_.clear_tasks();
    Launch(key, run, more);
    Send();
    auto task = WaitPhase(key, kReleased);
    EXPECT_TRUE(task);
    return task;
  }
  static std::vector<std::string> Entries(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
  }

  const std::string name_;
  std::string outside_;
};

TEST_P(AgentPathRaceTest, AWorkdirThatIsSwappedLeadsNowhereElse) {
  Race("set -e; cat word; echo x > made", [&](v1::TaskLaunch& launch) { launch.set_workdir(name_); });
}

TEST_P(AgentPathRaceTest, AMountThatIsSwappedLeadsNowhereElse) {
  Race("set -e; cat /data/word; echo x > /data/made", [&](v1::TaskLaunch& launch) {
    v1::Mount& mount = *launch.add_mounts();
    mount.set_source(name_);
    mount.set_target("/data");
  });
}

TEST_P(AgentPathRaceTest, ACheckpointFolderIsMadeAndMountedNowhereElse) {
  int made = 0;
  Race("echo x > $GLIM_CHECKPOINT_DIR/made",
       [&](v1::TaskLaunch& launch) { launch.set_checkpoint_dir(name_ + "/" + std::to_string(++made) + "/ckpt"); });
}

GLIM_IN_CONTAINERS(AgentPathRaceTest);

}  // namespace
}  // namespace glim::nodeagent
