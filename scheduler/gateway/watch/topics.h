// What a stream is about, and how far its reader has come: "nodes,queue,job:812,events,log:812:0" of the request, and
// the id that a browser sends when it comes again.
//
// Values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::gateway {

enum class TopicKind : std::uint8_t { kNodes, kQueue, kJob, kEvents, kLog };

struct Topic {
  TopicKind kind = TopicKind::kNodes;
  std::uint64_t job = 0;   // of kJob and kLog
  std::uint32_t rank = 0;  // of kLog
  friend auto operator<=>(const Topic&, const Topic&) = default;
};

inline constexpr std::size_t kTopicsMax = 32;  // of one stream
inline constexpr std::size_t kLogsMax = 8;     // of these

// As it is asked for, and as its frames are called.
std::string NameOf(const Topic& topic);

// In order, each once. INVALID_ARGUMENT (BAD_FIELD) names the topic that is none, or the bound.
Result<std::vector<Topic>> ParseTopics(std::string_view text);

// Where a log goes on.
struct LogPlace {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t attempt = 0;  // 0: the newest
  std::int64_t offset = 0;
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

// One id for all topics of a stream: it stands behind all frames of one round, so that whoever was cut off between them
// gets the round again.
struct ResumeId {
  std::uint64_t epoch = 0;  // of the leader that counted the rounds
  std::uint64_t round = 0;  // of the state topics
  std::uint64_t seq = 0;    // of the events: the store's own, so that it outlives leaders
  std::uint32_t shown = 0;  // HashOf what the reader was shown: an id of other topics says nothing of these
  std::vector<LogPlace> logs{};
  friend bool operator==(const ResumeId&, const ResumeId&) = default;
};

std::string WriteResumeId(const ResumeId& id);
std::optional<ResumeId> ReadResumeId(std::string_view text);

// Of names: the same for the same ones.
std::uint32_t HashOf(const std::vector<std::string>& names);

}  // namespace glim::gateway
