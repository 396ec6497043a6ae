#include "scheduler/notify/message.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/history_words.h"
#include "sdk/base/rfc3339.h"

namespace glim::notify {
namespace {

constexpr int kVersion = 2;  // of all JSON that Glim writes

std::string OutcomeWord(std::string_view kind, const core::HistoryEntry& entry) {
  if (kind == core::kNotifyDone) return "succeeded";
  if (kind == core::kNotifyFailed) return "failed";
  return core::ToString(entry.facts.outcome);
}

// The word of the spec by which this kind is asked for.
std::string_view AskedForBy(std::string_view kind) { return kind == kNotifyGpusIdle ? core::kNotifyInterrupted : kind; }

}  // namespace

std::optional<std::string_view> KindOf(const core::HistoryEntry& entry) {
  switch (entry.kind) {
    case core::HistoryKind::kJobSucceeded: return core::kNotifyDone;
    case core::HistoryKind::kJobFailed: return core::kNotifyFailed;
    case core::HistoryKind::kAttemptEnded:
      if (entry.facts.outcome == core::Outcome::kInterrupted) return core::kNotifyInterrupted;
      return std::nullopt;
    case core::HistoryKind::kAttemptGpusIdle: return kNotifyGpusIdle;
    default: return std::nullopt;
  }
}

std::vector<Message> MessagesFor(const std::string& cluster_id, std::uint64_t seq, const core::HistoryEntry& entry,
                                 const core::Job& job) {
  std::vector<Message> messages;
  const auto kind = KindOf(entry);
  const core::NotifySpec& notify = job.spec->notify;
  if (!kind || std::count(notify.on.begin(), notify.on.end(), AskedForBy(*kind)) == 0) return messages;
  for (const std::string& target : notify.to) {
    Message message{seq, target, {entry.job, entry.attempt}, "", "", entry.at};
    message.id = cluster_id + "-" + std::to_string(seq) + "-" + target;
    const nlohmann::json body = {{"version", kVersion},
                                 {"id", message.id},
                                 {"cluster_id", cluster_id},
                                 {"to", target},
                                 {"kind", *kind},
                                 {"job",
                                  {{"id", job.id.value},
                                   {"name", job.spec->name},
                                   {"user", job.user},
                                   {"team", job.team},
                                   {"pool", job.spec->pool},
                                   {"state", core::ToString(job.state)},
                                   {"nodes", job.spec->nodes}}},
                                 {"attempt", entry.attempt},
                                 {"outcome", OutcomeWord(*kind, entry)},
                                 {"message", core::HistoryWords(entry)},
                                 {"happened_at_ms", entry.at.ms},
                                 {"happened_at", FormatRfc3339(entry.at)}};
    message.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace glim::notify
