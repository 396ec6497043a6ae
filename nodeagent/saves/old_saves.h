// The folders of jobs' saves in one place, STATE_DIR/checkpoints or CHECKPOINT_ROOT/jobs: what lies there, and removal
// of some. Both block for as long as the storage does: glim-paths does them for the agent (services/save_collector.h).
//
//   PLACE/7              a job's saves
//   PLACE/.removing-7    they are on their way out: what a crash leaves goes with the next look
//   PLACE/.ended/7       job 7 has ended and Glim chose its folder; outlives the scheduler's memory of the job
//
// Whoever may write into a job's folder leads nobody out of it: everything is opened from the folder above, no symbolic
// link is followed, no other file system entered. Stateless.
//
// Sources: old_saves.cc, old_saves_text.cc (what agent and glim-paths tell each other)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// The folder BASE, whose name may lead over links (an operator's), and NAME in it.
struct SavesPlace {
  std::string base;
  std::string name;
};

struct FoundSaves {
  std::uint64_t job = 0;
  std::int64_t bytes = 0;          // on the disk
  std::int64_t changed_at_ms = 0;  // the newest of all in it
  bool noted = false;              // there is a note that its job has ended
  std::uint32_t saves = 0;         // folders with a manifest.json (docs/reference/checkpoint-format.md)
  friend bool operator==(const FoundSaves&, const FoundSaves&) = default;
};

struct SavesOrder {
  std::vector<std::uint64_t> remove;
  std::vector<std::uint64_t> note;
  friend bool operator==(const SavesOrder&, const SavesOrder&) = default;
};

// At most so many are told at once: those that have not changed for longest.
inline constexpr std::size_t kFoundSavesMax = 20'000;

// Finishes what an earlier removal began, then looks. A place that is not there holds nothing.
Result<std::vector<FoundSaves>> FindSaves(const SavesPlace& place);
// The jobs that are gone now; `status` is the first that went wrong, the others are tried all the same.
struct RemovedSaves {
  std::vector<std::uint64_t> jobs;
  Status status;
};
RemovedSaves RemoveSaves(const SavesPlace& place, const SavesOrder& order);

// As text between agent and glim-paths; a text that was cut off is an error.
std::string ToText(const Result<std::vector<FoundSaves>>& found);
Result<std::vector<FoundSaves>> ParseFound(const std::string& text);
std::string ToText(const SavesOrder& order);
Result<SavesOrder> ParseOrder(const std::string& text);
std::string ToText(const RemovedSaves& removed);
RemovedSaves ParseRemoved(const std::string& text);

}  // namespace glim::nodeagent
