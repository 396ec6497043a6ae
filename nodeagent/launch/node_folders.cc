#include "nodeagent/launch/node_folders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "nodeagent/saves/save_tree.h"

namespace glim::nodeagent {

std::string CheckpointFolder(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch) {
  if (!launch.checkpoint_dir().empty()) return launch.checkpoint_dir();
  return OwnCheckpointFolder(options.state_dir, key.job);
}

std::string BasePath(const std::string& checkpoint_folder, const v1::BaseSave& base) {
  return checkpoint_folder + "/" + base.local();
}

void SetLocalPaths(const std::string& own_folder, v1::ObservedTask* task) {
  for (v1::ObservedRank& rank : *task->mutable_ranks()) {
    for (v1::Save& save : *rank.mutable_saves()) {
      std::string path = std::filesystem::path(save.path()).lexically_normal().string();
      while (path.ends_with('/')) path.pop_back();
      if (!path.starts_with(own_folder + "/")) continue;
      const std::string local = path.substr(own_folder.size() + 1);
      std::error_code error;
      if (IsLocalPath(local) && std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        save.set_local(local);
      }
    }
  }
}

std::string ImageFolderOf(const AgentOptions& options) { return options.state_dir + "/images"; }

std::string LogFolder(const AgentOptions& options, std::uint64_t job, std::uint32_t attempt) {
  return options.state_dir + "/logs/" + std::to_string(job) + "-" + std::to_string(attempt);
}

std::uint64_t HighestJob(const std::string& state_dir) {
  std::uint64_t highest = 0;
  for (const char* folder : {"/tasks", "/logs", "/checkpoints"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(state_dir + folder, error), end; !error && it != end;
         it.increment(error)) {
      // "7.1.0", "7-1", "7"
      highest = std::max<std::uint64_t>(highest, std::strtoull(it->path().filename().c_str(), nullptr, 10));
    }
  }
  return highest;
}

}  // namespace glim::nodeagent
