// Which nodes a job could get in this pass, and on what terms: free, being emptied, of attempts that it may displace or
// interrupt, now or later. Pure functions of what the pass has seen and given away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/core/planning/nodes_out.h"
#include "scheduler/core/planning/placement.h"
#include "scheduler/core/planning/pool_view.h"

namespace glim::core {

inline constexpr std::size_t kHoldersNamed = 20;

// Who asks: what a verdict about nodes depends on, beside their number.
struct Asker {
  const Job* job = nullptr;
  PriorityClass priority = PriorityClass::kNormal;
  Urgency urgency;
  bool starved = false;
  bool may_interrupt = true;  // false: only what is free or being emptied
  bool swap_aborted = false;
};

// What an asker could get, in sums: all that the words about it take.
struct FieldSums {
  const AskView* ask = nullptr;
  std::size_t fitting() const { return ask->nodes.size(); }
  NodesOut out;                 // of the fitting ones
  std::size_t held_back = 0;    // free ones, or being emptied, kept back for somebody else
  std::vector<JobId> holders;   // of fitting nodes that it cannot have; the first kHoldersNamed
  std::size_t holders_all = 0;  // how many there are
  std::size_t free = 0, free_in_best_zone = 0;
  std::uint32_t best_zone = 0;                    // with the most free ones
  TimePoint protected_until;                      // the first moment at which one more could be a victim; 0: none
  bool lower_protected = false;                   // that one is of a lower class; else of its own
  bool save_awaited = false;                      // and is let finish its periodic save; else it has not run for long
  std::size_t reserved = 0;                       // fitting ones that reservations keep from it
  std::vector<const Reservation*> reserved_by{};  // these; lent by the state
  JobId doubled;  // and is protected so long because its quantum is doubled; 0: it is not
};

// And by node, before victims are chosen.
struct Field : FieldSums {
  std::vector<Candidate> candidates;                   // free, emptying, displaced and victims' nodes that fit the job
  std::vector<std::pair<TimePoint, Candidate>> later;  // of attempts that become victims then
};

// What every verdict of a pass goes by.
struct PassTerms {
  const Policy& policy;
  TimePoint now;
  std::int64_t preempt_gain = 0;  // job_order.h
  const Reserved* reserved = nullptr;
};

// From when on that attempt gives way to the asker, be it that it is interrupted or loses its claims; 0: now, none:
// never while it is as it is.
std::optional<TimePoint> GivesWayFrom(const PassAttempt& holder, const Asker& asker, const PassTerms& terms);

// `ask` is the job's in `view`, and outlives what is returned.
Field FieldIn(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms);
FieldSums FieldSumsIn(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms);

}  // namespace glim::core
