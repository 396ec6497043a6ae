// What of an agent's state folder takes room, for people who have to make some. Stateless; it walks the folder, which
// takes its time, and stops at a bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glim::nodeagent {

struct DiskUse {
  std::string path;  // relative to the state folder: "tasks/7.1.0/tmp", "logs/7-1", "checkpoints/7"
  std::int64_t bytes = 0;
};

// The largest `count` of tasks' /tmp, code and other files, attempts' logs and jobs' checkpoints, the largest first.
std::vector<DiskUse> LargestIn(const std::string& state_dir, std::size_t count);

// What a folder and all below it take on the disk.
std::int64_t BytesIn(const std::string& folder);

// "12 KiB", "3.4 GiB".
std::string BytesText(std::int64_t bytes);

}  // namespace glim::nodeagent
