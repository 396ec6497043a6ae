// What a job takes, in bytes: of the scheduler's memory and of its store, at most of each. Bounds of users count by it
// (kept_jobs.h). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/core/model/rows.h"

namespace glim::core {

// Of any job, whatever its spec says: its row, its places in lists and indices, and its spec's numbers and words.
inline constexpr std::int64_t kJobBytes = 2048;
// Of each variable, mount, zone, dependency and other element of a list beside its texts.
inline constexpr std::int64_t kElementBytes = 128;

// kJobBytes, the elements, and the texts as the store writes them, which is never less than in memory. Walks the texts:
// microseconds for the longest.
std::int64_t SpecBytes(const JobSpec& spec);

// What became of the job, in words: its message, and where its saves are.
std::int64_t TaleBytes(const Job& job);

// The field of the spec that takes most: "env", "run", "mounts", "after"; empty: no list and no text of it is large.
std::string LargestField(const JobSpec& spec);

}  // namespace glim::core
