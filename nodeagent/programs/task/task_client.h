// The rank's end of the task socket for programs that live for one word: glim-task. Blocking, one thread.
//
// Several such programs of one rank come one after another, or at once from a script's background jobs. A second
// connection of a rank replaces the first, so a file lock beside the socket lets one speak at a time, and each goes on
// from the number that `welcome` tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

struct Welcome {
  std::uint64_t seq = 0;        // taken in so far
  std::uint32_t agreement = 0;  // of the interrupt in force; 0: none
  std::int64_t step = -1;       // the last that this rank has reported
};

class TaskClient {
 public:
  using Clock = std::chrono::steady_clock;

  TaskClient(std::string socket_path, std::uint32_t rank) : path_(std::move(socket_path)), rank_(rank) {}

  // Connects, waiting for the agent (which may be restarting) and for other speakers of this rank.
  Result<Welcome> Connect(Clock::time_point until);
  // Sends one message with the next number and waits until it is taken in; connects again when it has to.
  // INVALID_ARGUMENT when the agent refuses it.
  Status Say(nlohmann::json message, Clock::time_point until);
  // The next message that is no acknowledgement. UNAVAILABLE when the connection ends, DEADLINE_EXCEEDED at `until`;
  // without `until` it waits for as long as it takes.
  Result<nlohmann::json> Hear(std::optional<Clock::time_point> until);
  // Lets others speak; the connection stays until one does.
  void Yield() { lock_.Reset(); }

 private:
  Status TryConnect();
  void TakeLock(Clock::time_point until);
  Status Write(const nlohmann::json& message);
  Result<nlohmann::json> ReadMessage(std::optional<Clock::time_point> until);

  const std::string path_;
  const std::uint32_t rank_;
  UniqueFd lock_;
  UniqueFd socket_;
  std::string input_;
  std::deque<nlohmann::json> heard_;  // came while an acknowledgement was waited for
  Welcome welcome_;
};

}  // namespace glim::nodeagent
