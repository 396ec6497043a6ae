// What one rank has said on the task socket, and how far its numbered messages have been taken in. Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/task/task_message.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr std::size_t kSavesKept = 4;
inline constexpr std::size_t kErrorBytesMax = 512;  // of a rank's words about a save

struct SaveFailure {
  std::int64_t step = -1;
  std::string why;
  std::uint32_t count = 0;  // how often since the last save that it made
};

struct RankState {
  std::uint32_t rank = 0;
  std::uint64_t seq = 0;  // taken in up to here
  bool greeted = false;   // it has said hello
  std::int64_t step = -1;
  std::int64_t step_ms = 0;
  std::uint32_t acked_agreement = 0;
  std::int64_t hold = 0;
  bool finished = false;
  std::vector<SavedMessage> saves;  // the newest kSavesKept, oldest first
  bool leaving = false;
  std::uint32_t extend_agreement = 0;
  std::int64_t extend_ms = 0;
  bool yielded = false;
  std::int64_t restored_step = -1;
  std::int64_t restore_ms = 0;
  std::string restore_failed;  // why it could not go on from the save that it was given; empty: not said
  SaveFailure save_failure;    // its newest save, where that failed
};

enum class Taken {
  kRepeat,    // taken in before: acknowledge, change nothing
  kProgress,  // only the step moved
  kChange,    // must be written down before it is acknowledged
  kRefused,   // counts as taken in, changes nothing else
};

// Takes one message in. `hello` is not for here.
Taken TakeIn(RankState& state, const TaskMessage& message);

std::string ToJson(const std::vector<RankState>& ranks);
Result<std::vector<RankState>> ParseRankStates(const std::string& text);

}  // namespace glim::nodeagent
