// One line from a rank, decoded: docs/protocols/task-socket.md. Pure: text in, value or refusal out; it takes whatever
// bytes come (it is fuzzed) and never throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace glim::nodeagent {

inline constexpr std::size_t kTaskLineBytesMax = 64 * 1024;
inline constexpr std::size_t kSavePathBytesMax = 4096;
inline constexpr std::uint32_t kTaskSocketProtocol = 2;

struct HelloMessage {
  std::uint32_t protocol = 0;
  std::uint32_t rank = 0;
  std::int64_t pid = 0;
  std::string sdk;
};
struct ProgressMessage {
  std::int64_t step = -1;
  std::int64_t step_ms = 0;
};
struct AckMessage {
  std::uint32_t agreement = 0;
  std::int64_t hold = 0;
  bool finished = false;
};
struct NeedsMessage {
  std::uint32_t agreement = 0;
  std::int64_t extend_ms = 0;
};
struct SavedMessage {
  std::int64_t step = 0;
  std::string path;
  std::int64_t bytes = 0;
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  std::int64_t duration_ms = 0;
};
struct RestoredMessage {
  std::int64_t step = -1;
  std::int64_t duration_ms = 0;
};
// It could not go on from the save that it was given.
struct RestoreFailedMessage {
  std::int64_t step = -1;
  std::string path;
  std::string error;
};
// A save that it could not make.
struct SaveFailedMessage {
  std::int64_t step = -1;  // -1: not said
  std::string error;
};
struct LeavingMessage {
  std::uint32_t agreement = 0;
};
struct FinishedMessage {};
struct RefusedMessage {
  std::string error;
};

struct TaskMessage {
  std::uint64_t seq = 0;  // 0: `hello`, or it could not be read
  std::variant<RefusedMessage, HelloMessage, ProgressMessage, AckMessage, NeedsMessage, SavedMessage, RestoredMessage,
               RestoreFailedMessage, SaveFailedMessage, LeavingMessage, FinishedMessage>
      body;
};

TaskMessage ParseTaskLine(std::string_view line);

}  // namespace glim::nodeagent
