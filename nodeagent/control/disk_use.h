// What of an agent's state folder takes room, for people who have to make some. Stateless; it walks the folder, which
// takes its time, and stops at a bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glim::nodeagent {

struct FolderBytes {
  std::int64_t bytes = 0;
  std::string uncounted;  // why there may be more: "folders more than 100 deep"; empty: that is all
};

struct DiskUse {
  std::string path;  // relative to the state folder: "tasks/7.1.0/tmp", "logs/7-1", "checkpoints/7"
  FolderBytes size;
};

// The largest `count` of tasks' /tmp, code and other files, attempts' logs and jobs' checkpoints, the largest first,
// before them what could not be counted.
std::vector<DiskUse> LargestIn(const std::string& state_dir, std::size_t count);

// What a folder and all below it take on the disk.
FolderBytes BytesIn(const std::string& folder);

// "12 KiB", "3.4 GiB"; "12 KiB and folders more than 100 deep".
std::string BytesText(std::int64_t bytes);
std::string BytesText(const FolderBytes& size);

}  // namespace glim::nodeagent
