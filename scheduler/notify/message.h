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

// The kind of a message that says that nobody uses an attempt's GPUs. Who asks for `interrupted` is told.
inline constexpr std::string_view kNotifyGpusIdle = "gpus_idle";

// interrupted, failed, done or gpus_idle; nothing: nobody is told of such an entry.
std::optional<std::string_view> KindOf(const core::HistoryEntry& entry);

// For each name of the job's spec, if the spec asks for what the entry is.
std::vector<Message> MessagesFor(const std::string& cluster_id, std::uint64_t seq, const core::HistoryEntry& entry,
                                 const core::Job& job);

}  // namespace glim::notify
