// The files of a save as they lie below a folder that somebody else may write to.
//
// Every path is walked component by component from an open folder, and no symbolic link is followed: what a task puts
// into its checkpoint folder leads nobody out of it. Stateless functions, safe from any thread; all of them block.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

inline constexpr std::size_t kLocalBytesMax = 4096;

struct TreeLimits {
  std::int64_t files_max = 200'000;  // files and folders of one save
  int depth_max = 32;                // folders within folders
};

// "attempt-1/step-00000007": relative, with one spelling, and without "." and "..".
bool IsLocalPath(const std::string& path);

// STATE_DIR/checkpoints/JOB, the checkpoint folder of a job that names none.
std::string OwnCheckpointFolder(const std::string& state_dir, std::uint64_t job);

// `path` itself may hold links above its last component: it is the agent's own.
Result<UniqueFd> OpenFolder(const std::string& path);
// `local` below the open folder; `flags` are for the last component. NOT_FOUND; FAILED_PRECONDITION for a link.
Result<UniqueFd> OpenBelow(int folder, const std::string& local, int flags);
// The same for folders, making those that are missing (0700, given to `owner`); for kMachine, syncing where one was
// made. An empty `local` is the folder itself.
Result<UniqueFd> MakeFoldersBelow(int folder, const std::string& local, const std::optional<TaskUser>& owner,
                                  Durability durability);

struct TreeEntry {
  std::string path;  // below the save; empty: the save itself
  int parent = -1;   // the open folder that has it, and its name there; only during the visit
  std::string name;
  int fd = -1;  // open for reading, likewise
  bool folder = false;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint32_t mode = 0;  // permission bits
};

enum class FolderOrder { kBefore, kAfter };  // of what lies in it

// Visits the save and everything in it, by name. Ends with the first error. FAILED_PRECONDITION for what is neither a
// file nor a folder, and beyond the limits; NOT_FOUND without the save.
Status WalkTree(int folder, const std::string& local, const TreeLimits& limits, FolderOrder order,
                const std::function<Status(const TreeEntry&)>& visit);

}  // namespace glim::nodeagent
