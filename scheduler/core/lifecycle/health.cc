#include "scheduler/core/lifecycle/health.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/health_act.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

constexpr std::size_t kReadingsMax = 64;  // of a report: the newest
constexpr Duration kOneNote = Minutes(1);

template <typename Finding>
HistoryFacts FactsOf(const Finding& found, std::int64_t code) {
  HistoryFacts facts;
  facts.check = found.check;
  facts.device = found.device;
  facts.code = code;
  facts.value = found.value;
  facts.expected = found.expected;
  facts.unit = found.unit;
  facts.verdict = found.verdict;
  return facts;
}

HealthEvent EventOf(const Changes& changes, NodeId id, const HealthReading& reading) {
  HealthEvent event;
  event.check = reading.check;
  event.device = reading.device;
  event.code = reading.code;
  event.at = changes.now();
  event.text = reading.text;
  event.value = reading.value;
  event.expected = reading.expected;
  event.unit = reading.unit;
  event.job = RunsOn(changes, id).job;
  if (event.job) event.user = changes.job(event.job).user;
  return event;
}

bool IsSameFinding(const HealthEvent& a, const HealthEvent& b) {
  return a.check == b.check && a.device == b.device && a.code == b.code && a.job == b.job;
}

// The entry that this one is counted with; none: it gets its own.
std::optional<std::size_t> CountedWith(const std::vector<HealthEvent>& kept, const HealthEvent& event) {
  const auto takes = [&](const HealthEvent& entry) {
    return entry.at + kOneNote > event.at && StrengthOf(entry.verdict) >= StrengthOf(event.verdict);
  };
  std::optional<std::size_t> newest;
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (!takes(kept[i])) continue;
    if (IsSameFinding(kept[i], event)) return i;
    if (!newest) newest = i;
  }
  const bool flood = kept.size() == kHealthEventsKept && kept.front().at + kOneNote > event.at;
  return flood ? newest : std::nullopt;
}

// Of the check that has the most entries, and of these the oldest of the finding that has the most.
std::size_t LeastMissed(const std::vector<HealthEvent>& kept) {
  const auto count = [&](const auto& is_alike) { return std::count_if(kept.begin(), kept.end(), is_alike); };
  std::size_t least = 0;
  std::pair<std::ptrdiff_t, std::ptrdiff_t> most;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const HealthEvent& entry = kept[i];
    const std::pair alike(count([&](const HealthEvent& other) { return entry.check == other.check; }),
                          count([&](const HealthEvent& other) { return IsSameFinding(entry, other); }));
    if (alike <= most) continue;
    most = alike;
    least = i;
  }
  return least;
}

std::string AndMore(const std::vector<HealthEvent>& kept, const HealthEvent& event) {
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    if (!IsSameFinding(*it, event)) continue;
    return it->more == 0 ? "" : "; and " + std::to_string(it->more) + " more since the last that was noted";
  }
  return "";
}

void Keep(Changes& changes, NodeId id, const HealthEvent& event) {
  changes.EditNode(id, [&](Node& node) {
    node.health_events.push_back(event);
    if (node.health_events.size() <= kHealthEventsKept) return;
    node.health_events.erase(node.health_events.begin() + static_cast<std::ptrdiff_t>(LeastMissed(node.health_events)));
  });
}

void TakeInEvent(Changes& changes, NodeId id, const HealthReading& reading) {
  HealthEvent event = EventOf(changes, id, reading);
  const std::vector<HealthEvent>& kept = changes.node(id).health_events;
  const HealthJudgement judged = JudgeHealth(changes.policy().health, kept, event);
  event.verdict = judged.verdict;
  const auto with = CountedWith(kept, event);
  if (with) {
    changes.EditNode(id, [&](Node& node) { ++node.health_events[*with].more; });
  } else {
    const std::string text = event.text + AndMore(kept, event);
    Keep(changes, id, event);
    HistoryFacts facts = FactsOf(event, event.code);
    if (reading.at && reading.at < changes.now()) facts.took = changes.now() - reading.at;  // by the node's clock
    changes.Note(HistoryKind::kHealthEvent, RunsOn(changes, id), id, text, facts);
  }
  ActOnHealth(changes, id, {.evidence = HealthInWords(event), .device = event.device, .told_before = with.has_value()},
              judged);
}

void TakeInEvents(Changes& changes, const NodeReported& told) {
  const Node& node = changes.node(told.node);
  const std::uint64_t seen = node.health_boot == told.health_boot ? node.health_seq : 0;
  std::vector<const HealthReading*> fresh;
  for (const HealthReading& reading : told.health_events) {
    if (reading.seq > seen || Planted(PlantedBug::kHealthEventTwice)) fresh.push_back(&reading);
  }
  std::stable_sort(fresh.begin(), fresh.end(),
                   [](const HealthReading* a, const HealthReading* b) { return a->seq < b->seq; });
  fresh.erase(std::unique(fresh.begin(), fresh.end(),
                          [](const HealthReading* a, const HealthReading* b) { return a->seq == b->seq; }),
              fresh.end());
  if (fresh.size() > kReadingsMax) fresh.erase(fresh.begin(), fresh.end() - kReadingsMax);
  changes.EditNode(told.node, [&](Node& row) {
    row.health_boot = told.health_boot;
    row.health_seq = fresh.empty() ? seen : std::max(seen, fresh.back()->seq);
  });
  for (const HealthReading* reading : fresh) TakeInEvent(changes, told.node, *reading);
}

// A condition, judged as if it had just happened.
HealthEvent AsEvent(const Changes& changes, NodeId id, const HealthCondition& condition) {
  return EventOf(changes, id,
                 {.seq = 0,
                  .check = condition.check,
                  .device = condition.device,
                  .code = 0,
                  .at = {},
                  .text = condition.text,
                  .value = condition.value,
                  .expected = condition.expected,
                  .unit = condition.unit});
}

const HealthCondition* Find(const std::vector<HealthCondition>& conditions, const HealthCondition& like) {
  for (const HealthCondition& one : conditions) {
    if (one.check == like.check && one.device == like.device) return &one;
  }
  return nullptr;
}

void BeginCondition(Changes& changes, NodeId id, const HealthCondition& condition, const HealthJudgement& judged,
                    bool is_new) {
  const Outcome blamed = BlamedFor(changes.policy().health, condition.check, 0);
  if (is_new) {
    changes.Note(HistoryKind::kHealthCondition, RunsOn(changes, id), id, condition.text, FactsOf(condition, 0));
  }
  // It may be over before the rank that it broke has given up.
  if (is_new && blamed != Outcome::kNone) {
    HealthEvent event = AsEvent(changes, id, condition);
    event.verdict = judged.verdict;
    Keep(changes, id, event);
  }
  ActOnHealth(changes, id, {.evidence = HealthInWords(condition), .device = condition.device, .lasts = true}, judged);
  if (judged.verdict == HealthVerdict::kCordoned) changes.MarkDirty();
}

void SeeConditions(Changes& changes, const NodeReported& told) {
  struct Begun {
    HealthCondition condition;
    HealthJudgement judged;
    bool is_new = false;
  };
  const NodeId id = told.node;
  const std::vector<HealthCondition> before = changes.node(id).health_conditions;
  std::vector<HealthCondition> now;
  std::vector<Begun> begun;
  for (HealthCondition condition : told.health_conditions) {
    if (now.size() == kHealthConditionsMax || Find(now, condition)) continue;
    const HealthJudgement judged = JudgeHealth(changes.policy().health, {}, AsEvent(changes, id, condition));
    const HealthCondition* known = Find(before, condition);
    condition.since = known ? known->since : changes.now();
    condition.verdict = judged.verdict;
    const bool grows = !known || StrengthOf(known->verdict) < StrengthOf(judged.verdict);
    if (grows) begun.push_back({condition, judged, !known});
    now.push_back(std::move(condition));
  }
  if (now == before) return;
  const bool was_kept_away = KeptAwayBy(changes.node(id)) != nullptr;
  changes.EditNode(id, [&](Node& node) { node.health_conditions = now; });
  if (was_kept_away && !KeptAwayBy(changes.node(id))) changes.MarkDirty();
  for (const HealthCondition& condition : before) {
    if (Find(now, condition)) continue;
    changes.Note(HistoryKind::kHealthConditionOver, {}, id, condition.text, FactsOf(condition, 0));
  }
  for (const Begun& one : begun) BeginCondition(changes, id, one.condition, one.judged, one.is_new);
}

}  // namespace

void SeeHealth(Changes& changes, const NodeReported& told) {
  if (told.health_boot.empty()) return;
  TakeInEvents(changes, told);
  SeeConditions(changes, told);
}

void ForgetConditions(Changes& changes, NodeId id) {
  const std::vector<HealthCondition> before = changes.node(id).health_conditions;
  if (before.empty()) return;
  changes.EditNode(id, [](Node& node) { node.health_conditions.clear(); });
  for (const HealthCondition& condition : before) {
    changes.Note(HistoryKind::kHealthConditionOver, {}, id, condition.text, FactsOf(condition, 0));
  }
  changes.MarkDirty();
}

}  // namespace glim::core
