// The root of a task's container, put together before the runtime starts: all that the container sees of its node is
// mounted there, so that the runtime walks no path of the job's, and inside a user namespace has nothing to make.
//
// With an image, that one is below it: a squashfs file, mounted read-only, and over it a folder in memory that takes
// what the task writes there, up to kImageWritesMax, and is gone with it.
//
// It is a tmpfs on an empty folder of the node's, in the mount namespace of that one start (task_mounts.h): whoever is
// the container's root there can reach it, as it could not reach the agent's private folder. Blocking; one thread.
#pragma once

#include <string>

#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// The folder, empty on the node. Its agents make it; each start has a root of its own there.
inline constexpr const char* kContainerRoot = "/run/glim-root";
Status MakeContainerRootFolder();

// What a task may write over its image, its own memory's limit included.
inline constexpr std::int64_t kImageWritesMax = std::int64_t{4} << 30;

class ContainerRoot {
 public:
  // Mounts the tmpfs; the calling process has mounts of its own (LeaveNodesMounts). `owner`: of the root folder.
  // `image`: the squashfs file; empty: none.
  static Result<ContainerRoot> Mount(uid_t owner, const std::string& image = "",
                                     const std::string& folder = kContainerRoot);

  // The place for a mount at `target` (absolute, as the container is to see it): a folder, or an empty file. What is
  // missing is made, beneath another mount as `user` and with no more than that one's rights. It walks along
  // descriptors, over no link (ELOOP). No descriptor, and errno, if that failed.
  UniqueFd Place(const std::string& target, bool folder, const TaskUser& user) const;

  // When all is mounted: what else a system has at its root, and the kernel's /sys without what is mounted below.
  Status Finish() const;

 private:
  ContainerRoot(UniqueFd root, std::string folder, dev_t device, bool of_image)
      : root_(std::move(root)), folder_(std::move(folder)), device_(device), of_image_(of_image) {}
  Status LinkPrograms() const;

  UniqueFd root_;
  std::string folder_;
  dev_t device_;   // of what is ours: all else belongs to whoever has it
  bool of_image_;  // what a system has at its root is the image's
};

}  // namespace glim::nodeagent
