// ROOT/jobs/JOB, a job's folder for its saves where Glim chose it. Stateless; it blocks for as long as the storage
// does.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

inline constexpr mode_t kJobsFolderMode = 0711;

// "/root/jobs/7" is {"/root", "jobs", "7"}.
struct SavesPath {
  std::string root, jobs, job;
};
SavesPath SplitSavesPath(const std::string& path);

struct SavesFolder {
  UniqueFd fd;      // O_PATH
  int error = 0;    // errno; none: `fd` is open
  std::string why;  // with EACCES, for people
};

// Opens it below the open folder `root`, along descriptors and over no link, if nobody may exchange it (OpenTrusted, of
// `jobs`) and it is `owner`'s. `make`: makes it in the open folder `jobs` where it is missing; none: it is not made.
SavesFolder OpenSaves(int root, const SavesPath& path, uid_t owner, const std::function<void(int jobs)>& make = {});

}  // namespace glim::nodeagent
