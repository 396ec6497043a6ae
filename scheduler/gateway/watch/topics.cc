#include "scheduler/gateway/watch/topics.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "sdk/base/printable.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kIdBytesMax = 1'024;

Status BadTopics(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message))
      .WithReason("BAD_FIELD")
      .WithField("topics")
      .WithFix("name some of nodes, queue, events, job:ID, log:ID:RANK, with commas between them");
}

// The part up to `end`, cut off with it; the rest if there is none.
std::string_view Next(std::string_view* rest, char end) {
  const std::size_t at = std::min(rest->find(end), rest->size());
  const std::string_view part = rest->substr(0, at);
  rest->remove_prefix(std::min(at + 1, rest->size()));
  return part;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool ReadTopic(std::string_view text, Topic* topic) {
  std::string_view rest = text;
  const std::string_view kind = Next(&rest, ':');
  const bool alone = text.find(':') == std::string_view::npos;
  if (kind == "nodes" || kind == "queue" || kind == "events") {
    topic->kind = kind == "nodes" ? TopicKind::kNodes : kind == "queue" ? TopicKind::kQueue : TopicKind::kEvents;
    return alone;
  }
  if (kind == "job") {
    topic->kind = TopicKind::kJob;
    return ReadNumber(rest, &topic->job) && topic->job != 0;
  }
  topic->kind = TopicKind::kLog;
  const std::string_view job = Next(&rest, ':');
  return kind == "log" && ReadNumber(job, &topic->job) && topic->job != 0 && ReadNumber(rest, &topic->rank);
}

bool ReadPlace(std::string_view text, LogPlace* place) {
  std::string_view rest = text;
  return ReadNumber(Next(&rest, '.'), &place->job) && ReadNumber(Next(&rest, '.'), &place->rank) &&
         ReadNumber(Next(&rest, '.'), &place->attempt) && ReadNumber(rest, &place->offset) && place->offset >= 0;
}

}  // namespace

std::string NameOf(const Topic& topic) {
  switch (topic.kind) {
    case TopicKind::kNodes: return "nodes";
    case TopicKind::kQueue: return "queue";
    case TopicKind::kEvents: return "events";
    case TopicKind::kJob: return "job:" + std::to_string(topic.job);
    case TopicKind::kLog: return "log:" + std::to_string(topic.job) + ":" + std::to_string(topic.rank);
  }
  return {};
}

Result<std::vector<Topic>> ParseTopics(std::string_view text) {
  std::set<Topic> topics;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = Next(&rest, ',');
    Topic topic;
    if (!ReadTopic(part, &topic)) return BadTopics("\"" + Printable(part.substr(0, 64)) + "\" is no topic");
    topics.insert(topic);
    if (topics.size() > kTopicsMax) return BadTopics("more than " + std::to_string(kTopicsMax) + " topics");
  }
  if (topics.empty()) return BadTopics("is missing");
  const auto logs =
      std::count_if(topics.begin(), topics.end(), [](const Topic& t) { return t.kind == TopicKind::kLog; });
  if (static_cast<std::size_t>(logs) > kLogsMax) return BadTopics("more than " + std::to_string(kLogsMax) + " logs");
  return std::vector<Topic>(topics.begin(), topics.end());
}

std::string WriteResumeId(const ResumeId& id) {
  std::string text = std::to_string(id.epoch) + "." + std::to_string(id.round) + "." + std::to_string(id.seq) + "." +
                     std::to_string(id.shown);
  for (const LogPlace& log : id.logs) {
    text += "~" + std::to_string(log.job) + "." + std::to_string(log.rank) + "." + std::to_string(log.attempt) + "." +
            std::to_string(log.offset);
  }
  return text;
}

std::optional<ResumeId> ReadResumeId(std::string_view text) {
  if (text.size() > kIdBytesMax) return {};
  ResumeId id;
  std::string_view logs = text;
  std::string_view head = Next(&logs, '~');
  if (!ReadNumber(Next(&head, '.'), &id.epoch) || !ReadNumber(Next(&head, '.'), &id.round) ||
      !ReadNumber(Next(&head, '.'), &id.seq) || !ReadNumber(head, &id.shown)) {
    return {};
  }
  while (!logs.empty()) {
    LogPlace place;
    if (id.logs.size() == kLogsMax || !ReadPlace(Next(&logs, '~'), &place)) return {};
    id.logs.push_back(place);
  }
  return id;
}

std::uint32_t HashOf(const std::vector<std::string>& names) {
  std::uint32_t hash = 2'166'136'261U;  // FNV-1a
  for (const std::string& name : names) {
    for (const char c : name + ",") hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  }
  return hash;
}

}  // namespace glim::gateway
