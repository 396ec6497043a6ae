// Who is told of what, and in which words. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/history.h"
#include "scheduler/core/model/rows.h"

namespace glim::notify {

// What one target is told once. `id` and `body` are the same on every try.
struct Message {
  std::uint64_t seq = 0;  // of the entry of the history
  std::string target;     // by the policy's name
  core::AttemptId attempt;
  std::string id;
  std::string body;  // one JSON document
  TimePoint happened_at;
};

// interrupted, failed or done; nothing: specs cannot ask to be told of such an entry.
std::optional<std::string_view> KindOf(const core::HistoryEntry& entry);

// For each name of the job's spec, if the spec asks for what the entry is.
std::vector<Message> MessagesFor(const std::string& cluster_id, std::uint64_t seq, const core::HistoryEntry& entry,
                                 const core::Job& job);

}  // namespace glim::notify
