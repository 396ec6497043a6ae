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
#include <vector>

#include "scheduler/core/model/learnt_rows.h"
#include "sdk/base/time.h"

namespace glim::core {

std::uint8_t ServiceBucket(Duration service);
Duration BucketBegin(std::size_t bucket);  // of kServiceBuckets: the end of the last

// 1024 x the binary logarithm of x >= 1, rounded down to about 1/1024.
std::int64_t FixedLog2(std::uint64_t x);

// What a job is known by before it has run.
struct Kind {
  std::string user;
  std::uint32_t nodes = 1;
  Duration time_limit;  // 0: none
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

struct RuntimePrediction {
  // 1024 x log2 of the index (chance a millisecond, scaled alike for all), by service bucket.
  std::array<std::int32_t, kServiceBuckets> running{};  // it goes on
  std::array<std::int32_t, kServiceBuckets> waiting{};  // it must be started first, which costs `switch_cost`
  std::array<std::uint16_t, kServiceBuckets> ends_soon_permille{};  // the chance that it ends within `soon`
  std::array<std::int64_t, kServiceBuckets> remaining_p10_ms{}, remaining_p50_ms{}, remaining_p90_ms{};
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

  // Valid until the next call that is not const. Computed anew when a tenth more has been learnt since, but only a few
  // for each job that ends: no pass pays for all kinds at once.
  const RuntimePrediction& RuntimePredictionOf(const Kind& kind, Duration switch_cost, Duration soon) const;

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
  struct Cached {
    std::uint64_t changes = 0;  // of all tables, when it was computed
    std::uint32_t own = 0;      // observations of the finest table then
    RuntimePrediction prediction;
  };
  using Key = LifeTableId;

  static Key Finest(const Kind& kind);
  static std::array<Key, 4> Chain(const Kind& kind);
  void Changed();
  template <typename Iterator>
  static Iterator OldestOf(Iterator begin, Iterator end);
  std::array<std::uint32_t, kServiceBuckets> Hazards(const Kind& kind) const;

  std::map<Key, Table> tables_;
  std::uint64_t changes_ = 0;
  mutable std::uint32_t renewals_left_ = 0;
  mutable std::map<Kind, Cached> cache_;
};

}  // namespace glim::core
