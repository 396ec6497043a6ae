#include "scheduler/core/model/policy_keys.h"

#include <algorithm>
#include <type_traits>

#include "sdk/base/members.h"

namespace glim::core {
namespace {

using enum PolicyPart;

constexpr std::int64_t kMostOfAnything = 10'000'000;
constexpr std::int64_t kSpecBytesMin = std::int64_t{1} << 20;  // the largest spec
constexpr std::int64_t kSpecBytesMax = std::int64_t{1} << 40;
constexpr Duration kDay = Hours(24);

constexpr PolicyKey Row(PolicyPart part, const char* name, PolicyUnit unit, PolicyKey::Member member,
                        std::int64_t low = 0, std::int64_t high = 0) {
  return {part, name, unit, member, low, high};
}

constexpr PolicyKey Time(PolicyPart part, const char* name, Duration Policy::*member, Duration low, Duration high) {
  return Row(part, name, PolicyUnit::kTime, member, low.ms, high.ms);
}

template <typename Number>
constexpr PolicyKey Count(PolicyPart part, const char* name, Number Policy::*member, std::int64_t low,
                          std::int64_t high) {
  return Row(part, name, PolicyUnit::kCount, member, low, high);
}

constexpr PolicyKey Permille(PolicyPart part, const char* name, std::int64_t Policy::*member, std::int64_t low,
                             std::int64_t high) {
  return Row(part, name, PolicyUnit::kPermille, member, low, high);
}

constexpr PolicyKey SpecBytes(PolicyPart part, const char* name, std::int64_t Policy::*member) {
  return Row(part, name, PolicyUnit::kBytes, member, kSpecBytesMin, kSpecBytesMax);
}

constexpr PolicyKey Drawn(PolicyKey key, std::int64_t low, std::int64_t high) {
  key.draw_low = low;
  key.draw_high = high;
  return key;
}

constexpr PolicyKey Drawn(PolicyKey key, Duration low, Duration high) { return Drawn(key, low.ms, high.ms); }

constexpr PolicyKey NotBelow(PolicyKey key, const char* other) {
  key.not_below = other;
  return key;
}

constexpr PolicyKey kKeys[] = {
    Drawn(Time(kSlicing, "quantum_min", &Policy::quantum_min, {}, kDay * 30), Minutes(1), Minutes(10)),
    NotBelow(Drawn(Time(kSlicing, "quantum_max", &Policy::quantum_max, {}, kDay * 365), Minutes(5), Hours(2)),
             "quantum_min"),
    Drawn(Time(kSlicing, "starvation_bound", &Policy::starvation_bound, Seconds(1), kDay * 365), Minutes(5), Hours(1)),
    Drawn(Time(kSlicing, "switch_cost", &Policy::switch_cost, {}, kDay), Seconds(1), Minutes(10)),
    Drawn(Permille(kSlicing, "preempt_gain", &Policy::preempt_gain_permille, 1000, 1'000'000), 1000, 4000),
    Drawn(Permille(kSlicing, "size_weight", &Policy::size_weight_permille, 0, 10'000), 0, 1500),
    Drawn(Permille(kSlicing, "age_weight", &Policy::age_weight_permille, 0, 10'000), 0, 500),
    Drawn(Time(kSlicing, "replan_interval", &Policy::replan_interval, Milliseconds(100), kDay), Seconds(5), Minutes(1)),
    Drawn(Time(kSlicing, "backfill_hold_after", &Policy::backfill_hold_after, {}, kDay * 30), Duration{}, Minutes(10)),
    Row(kSlicing, "enforce_time_limits", PolicyUnit::kSwitch, &Policy::enforce_time_limits, 0, 1),
    Row(kSlicing, "time_max", PolicyUnit::kTimesByPool, &Policy::time_max, 1000, kDay.ms * 365),

    Drawn(Count(kCrossZone, "cross_zone_nodes_min", &Policy::cross_zone_nodes_min, 2, kMostOfAnything), 2, 6),

    Drawn(Permille(kInterrupts, "move_gain", &Policy::move_gain_permille, 0, 1'000'000), 0, 40'000),
    Drawn(Time(kInterrupts, "save_wait_max", &Policy::save_wait_max, {}, kDay), Duration{}, Minutes(1)),
    Time(kInterrupts, "agree_max", &Policy::agree_max, Milliseconds(100), kDay),
    Row(kInterrupts, "grace_cap", PolicyUnit::kTimesByClass, &Policy::grace_cap, 0, kDay.ms),
    Row(kInterrupts, "max_grace_cap", PolicyUnit::kTimesByClass, &Policy::max_grace_cap, 0, kDay.ms),
    Drawn(Count(kInterrupts, "min_run_factor", &Policy::min_run_factor, 0, 1'000'000), 0, 20),
    Drawn(Time(kInterrupts, "min_run_max", &Policy::min_run_max, {}, kDay), Duration{}, Minutes(1)),
    Drawn(Time(kInterrupts, "default_save_cost", &Policy::default_save_cost, {}, kDay), Milliseconds(10), Seconds(2)),
    Drawn(Time(kInterrupts, "default_restore_cost", &Policy::default_restore_cost, {}, kDay), Milliseconds(10),
          Seconds(2)),
    Drawn(Time(kInterrupts, "median_checkpoint_interval", &Policy::median_checkpoint_interval, Milliseconds(1), kDay),
          Seconds(10), Minutes(10)),
    Time(kInterrupts, "kill_after_term", &Policy::kill_after_term, {}, kDay),
    Time(kInterrupts, "release_max", &Policy::release_max, Milliseconds(100), kDay),
    Time(kInterrupts, "start_max", &Policy::start_max, Milliseconds(100), kDay),
    Count(kInterrupts, "start_failures_max", &Policy::start_failures_max, 1, 1000),
    Time(kInterrupts, "start_backoff", &Policy::start_backoff, {}, kDay),

    Row(kSaves, "checkpoint_root", PolicyUnit::kFolder, &Policy::checkpoint_root),
    Drawn(Count(kSaves, "copy_bytes_per_s", &Policy::copy_bytes_per_s, 1000, 1'000'000'000'000), 1'000'000,
          2'000'000'000),
    Time(kSaves, "restore_backoff", &Policy::restore_backoff, {}, kDay),
    NotBelow(Time(kSaves, "restore_backoff_max", &Policy::restore_backoff_max, {}, kDay), "restore_backoff"),

    Row(kLogs, "logs_root", PolicyUnit::kFolder, &Policy::logs_root),

    Time(kNodes, "node_lost_after", &Policy::node_lost_after, Milliseconds(200), kDay),
    Time(kNodes, "oversleep_max", &Policy::oversleep_max, Milliseconds(100), kDay),
    Count(kNodes, "outage_percent", &Policy::outage_percent, 1, 100),
    Time(kNodes, "leaf_lost_after", &Policy::leaf_lost_after, Milliseconds(200), kDay * 30),
    Drawn(Time(kNodes, "suspect_for", &Policy::suspect_for, {}, kDay * 30), Seconds(10), Hours(1)),
    Row(kNodes, "fabric_private", PolicyUnit::kSwitch, &Policy::fabric_private, 0, 1),

    Count(kBounds, "unfinished_jobs_max", &Policy::unfinished_jobs_max, 1, kMostOfAnything),
    Count(kBounds, "unfinished_jobs_per_user_max", &Policy::unfinished_jobs_per_user_max, 1, kMostOfAnything),
    SpecBytes(kBounds, "unfinished_spec_bytes_max", &Policy::unfinished_spec_bytes_max),
    SpecBytes(kBounds, "unfinished_spec_bytes_per_user_max", &Policy::unfinished_spec_bytes_per_user_max),
    Count(kBounds, "finished_jobs_kept", &Policy::finished_jobs_kept, 0, kMostOfAnything),
    Count(kBounds, "master_port_first", &Policy::master_port_first, 1024, 65'535),
    NotBelow(Count(kBounds, "master_port_last", &Policy::master_port_last, 1024, 65'535), "master_port_first"),
};

// Read by functions of their own (scheduler/policy): five of quotas, team_weight, links, checkpoint_retention,
// task_users, health, price, notify.
constexpr std::size_t kOtherMembers = 12;

static_assert(MembersOf<Policy>() == std::size(kKeys) + kOtherMembers, "a member of Policy needs a row here");

}  // namespace

std::span<const PolicyKey> PolicyKeys() { return kKeys; }

bool IsAmount(const PolicyKey& key) {
  return key.unit != PolicyUnit::kTimesByClass && key.unit != PolicyUnit::kTimesByPool &&
         key.unit != PolicyUnit::kFolder;
}

std::int64_t AmountOf(const PolicyKey& key, const Policy& policy) {
  return std::visit(
      [&](auto member) -> std::int64_t {
        using T = std::remove_cvref_t<decltype(policy.*member)>;
        if constexpr (std::is_same_v<T, Duration>) return (policy.*member).ms;
        if constexpr (std::is_arithmetic_v<T>) return static_cast<std::int64_t>(policy.*member);
        return 0;
      },
      key.member);
}

void SetAmount(const PolicyKey& key, std::int64_t amount, Policy& policy) {
  std::visit(
      [&](auto member) {
        using T = std::remove_cvref_t<decltype(policy.*member)>;
        if constexpr (std::is_same_v<T, Duration>) policy.*member = Duration{amount};
        if constexpr (std::is_arithmetic_v<T>) policy.*member = static_cast<T>(amount);
      },
      key.member);
}

void DrawPolicy(Policy& policy, const std::function<std::int64_t(const PolicyKey&)>& draw) {
  for (const PolicyKey& key : kKeys) {
    if (key.IsDrawn()) SetAmount(key, draw(key), policy);
  }
  for (const PolicyKey& key : kKeys) {
    if (key.not_below == nullptr) continue;
    for (const PolicyKey& other : kKeys) {
      if (std::string_view(other.name) != key.not_below) continue;
      SetAmount(key, std::max(AmountOf(key, policy), AmountOf(other, policy)), policy);
    }
  }
}

}  // namespace glim::core
