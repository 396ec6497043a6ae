#include "scheduler/core/model/service_history.h"

#include <algorithm>
#include <limits>

namespace glim::core {
namespace {

constexpr std::int64_t kPriorWeight = 5;      // pseudo-observations of the coarser table
constexpr std::int64_t kMillion = 1'000'000;  // probabilities are in parts per million
constexpr std::size_t kCacheMax = 20'000;
constexpr std::uint32_t kObservationsMax = 20'000;  // of a table; then the older ones count for half
constexpr std::size_t kTablesOfUserMax = 500;       // of the finest ones
constexpr std::size_t kTablesMax = 50'000;
constexpr std::int32_t kUnknown = std::numeric_limits<std::int32_t>::min();
// Until something has ended here: heavy-tailed, as jobs everywhere are (a Pareto tail of index 0.7: a bucket that grows
// the age by a quarter is left with 1 - 1.25^-0.7), and one in five ends in the first half minute.
constexpr std::uint32_t kPriorHazard = 144'600;
constexpr std::uint32_t kPriorFirstHazard = 200'000;

constexpr std::array<std::int64_t, kServiceBuckets + 1> MakeEdges() {
  std::array<std::int64_t, kServiceBuckets + 1> edges{};
  std::int64_t edge = 30'000;
  for (std::size_t i = 1; i <= kServiceBuckets; ++i) {
    edges[i] = edge;
    edge += edge / 4;
  }
  return edges;
}
constexpr std::array<std::int64_t, kServiceBuckets + 1> kEdges = MakeEdges();

std::uint32_t SizeClass(std::uint32_t nodes) {
  std::uint32_t size = 0;
  while (nodes > 1) {
    nodes /= 2;
    ++size;
  }
  return size;
}

using Hazard = std::array<std::uint32_t, kServiceBuckets>;

// The best ratio from bucket `from` on, `cost` milliseconds of preparation included: 1024 x log2(2^32 x P / T).
std::int32_t IndexFrom(const Hazard& hazard, std::size_t from, std::int64_t cost) {
  std::int64_t alive = kMillion, ended = 0, time = std::max<std::int64_t>(cost, 0);
  std::uint64_t best = 1;
  for (std::size_t i = from; i < kServiceBuckets; ++i) {
    const std::int64_t width = kEdges[i + 1] - kEdges[i];
    const std::int64_t ending = alive * hazard[i] / kMillion;
    // Those that end in the bucket are there for half of it.
    time += (width / 1000) * (alive - ending / 2) / 1000;
    ended += ending;
    alive -= ending;
    const auto ratio =
        (static_cast<std::uint64_t>(ended) << 32) / static_cast<std::uint64_t>(std::max<std::int64_t>(time, 1));
    best = std::max(best, ratio);
    if (alive < 10) break;
  }
  return static_cast<std::int32_t>(FixedLog2(best));
}

// The time after which that share (ppm) of those alive at the bucket's middle has ended.
std::int64_t TimeUntil(const Hazard& hazard, std::size_t from, std::int64_t share) {
  std::int64_t alive = kMillion, time = 0;
  for (std::size_t i = from; i < kServiceBuckets; ++i) {
    const std::int64_t width = (kEdges[i + 1] - kEdges[i]) / (i == from ? 2 : 1);
    const std::int64_t ending = std::max<std::int64_t>(alive * hazard[i] / kMillion, 1);
    if (kMillion - (alive - ending) >= share)
      return time + width * std::min(share - (kMillion - alive), ending) / ending;
    alive -= ending;
    time += width;
  }
  return time;
}

std::uint16_t ChanceWithin(const Hazard& hazard, std::size_t from, std::int64_t within) {
  std::int64_t alive = kMillion, time = 0;
  for (std::size_t i = from; i < kServiceBuckets; ++i) {
    time += (kEdges[i + 1] - kEdges[i]) / (i == from ? 2 : 1);
    if (time > within) break;
    alive -= alive * hazard[i] / kMillion;
  }
  return static_cast<std::uint16_t>((kMillion - alive) / 1000);
}

}  // namespace

std::uint8_t ServiceBucket(Duration service) {
  const auto it = std::upper_bound(kEdges.begin(), kEdges.end(), service.ms);
  const auto at = static_cast<std::size_t>(it - kEdges.begin());
  return static_cast<std::uint8_t>(std::clamp<std::size_t>(at, 1, kServiceBuckets) - 1);
}

Duration BucketBegin(std::size_t bucket) { return {kEdges[std::min(bucket, kServiceBuckets)]}; }

Duration LimitClass(Duration limit) {
  if (limit.ms <= 0) return {};
  const std::int64_t minutes = (limit.ms + 59'999) / 60'000;
  std::int64_t step = 1;
  while (step * 16 <= minutes) step *= 2;
  return Minutes((minutes + step - 1) / step * step);
}

std::int64_t FixedLog2(std::uint64_t x) {
  if (x <= 1) return 0;
  const std::int64_t whole = 63 - __builtin_clzll(x);
  // x / 2^whole in [1, 2) with 31 binary digits; squaring it gives one digit of the logarithm after the other.
  std::uint64_t mantissa = whole >= 31 ? x >> (whole - 31) : x << (31 - whole);
  std::int64_t fraction = 0;
  for (int digit = 0; digit < 10; ++digit) {
    mantissa = (mantissa * mantissa) >> 31;
    fraction *= 2;
    if (mantissa >= (std::uint64_t{1} << 32)) {
      mantissa /= 2;
      ++fraction;
    }
  }
  return whole * 1024 + fraction;
}

ServiceHistory::Key ServiceHistory::Finest(const Kind& kind) {
  return {3, kind.user, kind.nodes, kind.time_limit.ms / 60'000};
}

std::array<ServiceHistory::Key, 4> ServiceHistory::Chain(const Kind& kind) {
  const std::uint32_t size = SizeClass(kind.nodes);
  return {Key{0, "", 0, 0}, Key{1, "", size, 0}, Key{2, kind.user, size, 0}, Finest(kind)};
}

std::vector<LifeTable> ServiceHistory::With(const Kind& kind, Duration service, TimePoint now) const {
  const std::size_t bucket = ServiceBucket(service);
  std::vector<LifeTable> rows;
  for (const Key& key : Chain(kind)) {
    const auto known = tables_.find(key);
    Table table = known == tables_.end() ? Table{} : known->second;
    if (table.total >= kObservationsMax) {
      for (std::uint32_t& ended : table.ended) ended /= 2;
    }
    ++table.ended[bucket];
    LifeTable& row = rows.emplace_back(LifeTable{key, {}, now});
    const auto last = std::find_if(table.ended.rbegin(), table.ended.rend(), [](std::uint32_t n) { return n > 0; });
    row.ended.assign(table.ended.begin(), last.base());
  }
  return rows;
}

template <typename Iterator>
Iterator ServiceHistory::OldestOf(Iterator begin, Iterator end) {
  return std::min_element(begin, end,
                          [](const auto& a, const auto& b) { return a.second.updated_at < b.second.updated_at; });
}

std::vector<LifeTableId> ServiceHistory::Surplus(const Kind& kind) const {
  const Key finest = Finest(kind);
  if (tables_.contains(finest)) return {};
  const auto begin = tables_.lower_bound(Key{finest.level, kind.user, 0, 0});
  auto end = begin;
  std::size_t mine = 0;
  for (; end != tables_.end() && end->first.level == finest.level && end->first.user == kind.user; ++end) ++mine;
  if (mine >= kTablesOfUserMax) return {OldestOf(begin, end)->first};
  std::vector<LifeTableId> surplus;
  if (tables_.size() >= kTablesMax) {
    const auto of_users = tables_.lower_bound(Key{2, "", 0, 0});  // what is known of all together stays
    if (of_users != tables_.end()) surplus.push_back(OldestOf(of_users, tables_.end())->first);
  }
  return surplus;
}

void ServiceHistory::Put(const LifeTable& row) {
  Table& table = tables_[row.id];
  table = {};
  table.updated_at = row.updated_at;
  for (std::size_t i = 0; i < std::min(row.ended.size(), kServiceBuckets); ++i) {
    table.ended[i] = row.ended[i];
    table.total += row.ended[i];
  }
  ++changes_;
}

void ServiceHistory::Erase(const LifeTableId& id) {
  tables_.erase(id);
  ++changes_;
}

std::uint32_t ServiceHistory::observed() const {
  const auto all = tables_.find(Key{0, "", 0, 0});
  return all == tables_.end() ? 0 : all->second.total;
}

ServiceHistory::Hazard ServiceHistory::Refined(Hazard hazard, const Key& key) const {
  const auto it = tables_.find(key);
  if (it == tables_.end()) return hazard;
  std::int64_t at_risk = it->second.total;
  for (std::size_t i = 0; i < kServiceBuckets; ++i) {
    const std::int64_t ended = it->second.ended[i];
    hazard[i] = static_cast<std::uint32_t>((ended * kMillion + kPriorWeight * hazard[i]) / (at_risk + kPriorWeight));
    at_risk -= ended;
  }
  return hazard;
}

// All but the finest level, which many kinds share.
const ServiceHistory::Hazard& ServiceHistory::CoarseHazard(const Kind& kind) const {
  const auto chain = Chain(kind);
  if (coarse_.size() > kCacheMax) coarse_.clear();
  auto& [changes, hazard] = coarse_[chain[2]];
  if (changes == changes_) return hazard;
  changes = changes_;
  hazard.fill(kPriorHazard);
  hazard[0] = kPriorFirstHazard;
  for (std::size_t level = 0; level < 3; ++level) hazard = Refined(hazard, chain[level]);
  return hazard;
}

ServiceHistory::Cached& ServiceHistory::CachedOf(const Kind& kind) const {
  if (cache_.size() > kCacheMax) cache_.clear();
  Cached& cached = cache_[kind];
  if (cached.changes == changes_) return cached;
  cached.changes = changes_;
  cached.running.fill(kUnknown);
  cached.waiting.fill(kUnknown);
  cached.hazard = Refined(CoarseHazard(kind), Finest(kind));
  // Behind its own limit a job is asked to leave.
  for (std::size_t i = 0; kind.time_limit.ms > 0 && i < kServiceBuckets; ++i) {
    if (kEdges[i] >= kind.time_limit.ms) cached.hazard[i] = std::max<std::uint32_t>(cached.hazard[i], 900'000);
  }
  return cached;
}

std::int32_t ServiceHistory::IndexOfRunning(const Kind& kind, std::size_t bucket) const {
  Cached& cached = CachedOf(kind);
  std::int32_t& index = cached.running[bucket];
  if (index == kUnknown) index = IndexFrom(cached.hazard, bucket, 0);
  return index;
}

std::int32_t ServiceHistory::IndexOfWaiting(const Kind& kind, std::size_t bucket, Duration switch_cost) const {
  Cached& cached = CachedOf(kind);
  if (cached.switch_cost != switch_cost) cached.waiting.fill(kUnknown);
  cached.switch_cost = switch_cost;
  std::int32_t& index = cached.waiting[bucket];
  if (index == kUnknown) index = IndexFrom(cached.hazard, bucket, switch_cost.ms);
  return index;
}

std::uint16_t ServiceHistory::EndsWithinPermille(const Kind& kind, std::size_t bucket, Duration within) const {
  return ChanceWithin(CachedOf(kind).hazard, bucket, within.ms);
}

RemainingTime ServiceHistory::RemainingOf(const Kind& kind, std::size_t bucket) const {
  const Hazard& hazard = CachedOf(kind).hazard;
  return {{TimeUntil(hazard, bucket, kMillion / 10)},
          {TimeUntil(hazard, bucket, kMillion / 2)},
          {TimeUntil(hazard, bucket, kMillion * 9 / 10)}};
}

}  // namespace glim::core
