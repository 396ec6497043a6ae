// What is known of how long jobs take: how much service those that ended had received, and from it whom to serve next.
//
// Nobody tells how long a job will take; finished jobs do. For a job with attained service a, its Gittins index is the
// best ratio, over all quanta d, of the chance to end within d to the time that this is expected to take:
//   G(a) = max_d  P(S <= a + d | S > a) / E[min(S - a, d) | S > a]
// Serving the highest index first minimises the mean response time of jobs whose sizes are drawn from a known
// distribution (Gittins 1989; Aalto, Ayesta, Righter 2009, "On the Gittins index in the M/G/1 queue"). The distribution
// here is a chain of life tables, from coarse to fine (all jobs; jobs of about that size; the user's of about that
// size; the user's of that size and time limit): each is shrunk towards the coarser one by kPriorWeight
// pseudo-observations, so that a user's own history counts as soon as there is some.
//
// Pure values, integers alone. Owned by the ClusterState's index; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/learnt_rows.h"
#include "sdk/base/time.h"

namespace glim::core {

std::uint8_t ServiceBucket(Duration service);
Duration BucketBegin(std::size_t bucket);  // of kServiceBuckets: the end of the last

// 1024 x the binary logarithm of x >= 1, rounded down to about 1/1024.
std::int64_t FixedLog2(std::uint64_t x);

// A job's time limit, rounded up to one of a few: whole minutes up to 16, then eight to a doubling. 0 (none) stays.
// Kinds and shapes are told apart by it, and so limits in milliseconds do not make many of them.
Duration LimitClass(Duration limit);

// What a job is known by before it has run.
struct Kind {
  std::string user;
  std::uint32_t nodes = 1;
  Duration time_limit;  // its LimitClass; 0: none
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

// How long such a job still takes: in the shortest tenth of cases, in half of them, in all but a tenth.
struct RemainingTime {
  Duration p10, p50, p90;
};

class ServiceHistory {
 public:
  // The rows that tell of one job more: to be put. A table that knows kObservationsMax jobs counts each for half from
  // then on, so that what is new tells most.
  std::vector<LifeTable> With(const Kind& kind, Duration service, TimePoint now) const;
  // Rows to be erased first, so that neither a user with ever new kinds nor ever new users make them grow without
  // bound: the user's own that were touched longest ago, else anybody's.
  std::vector<LifeTableId> Surplus(const Kind& kind) const;

  // As the rows are put and erased.
  void Put(const LifeTable& row);
  void Erase(const LifeTableId& id);
  void Add(const Kind& kind, Duration service, TimePoint now = {}) {
    for (const LifeTable& row : With(kind, service, now)) Put(row);
  }

  // 1024 x log2 of the index (chance a millisecond, scaled alike for all) of one with service in that bucket: it goes
  // on, or must be started first, which costs `switch_cost`. These, and what follows, are functions of what was added
  // and not removed, and of nothing else: an answer that is kept is that answer, until something is added or removed.
  std::int32_t IndexOfRunning(const Kind& kind, std::size_t bucket) const;
  std::int32_t IndexOfWaiting(const Kind& kind, std::size_t bucket, Duration switch_cost) const;
  // The chance that it ends within `within`.
  std::uint16_t EndsWithinPermille(const Kind& kind, std::size_t bucket, Duration within) const;
  RemainingTime RemainingOf(const Kind& kind, std::size_t bucket) const;

  // Of how many ended jobs it knows.
  std::uint32_t observed() const;

  friend bool operator==(const ServiceHistory& a, const ServiceHistory& b) { return a.tables_ == b.tables_; }

 private:
  struct Table {
    std::array<std::uint32_t, kServiceBuckets> ended{};
    std::uint32_t total = 0;
    TimePoint updated_at;
    friend bool operator==(const Table&, const Table&) = default;
  };
  using Hazard = std::array<std::uint32_t, kServiceBuckets>;
  struct Cached {
    std::uint64_t changes = 0;  // when it was computed
    Hazard hazard{};
    Duration switch_cost;
    std::array<std::int32_t, kServiceBuckets> running{}, waiting{};  // kUnknown: not asked for yet
  };
  using Key = LifeTableId;

  static Key Finest(const Kind& kind);
  static std::array<Key, 4> Chain(const Kind& kind);
  template <typename Iterator>
  static Iterator OldestOf(Iterator begin, Iterator end);
  Hazard Refined(Hazard coarser, const Key& key) const;
  const Hazard& CoarseHazard(const Kind& kind) const;
  Cached& CachedOf(const Kind& kind) const;

  std::map<Key, Table> tables_;
  std::uint64_t changes_ = 1;
  mutable std::map<Kind, Cached> cache_;
  mutable std::map<Key, std::pair<std::uint64_t, Hazard>> coarse_;  // with `changes` then; of users' sizes
};

}  // namespace glim::core
