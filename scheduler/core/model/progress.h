// Progress is soft state: how far the ranks are changes every second, and a new leader hears of it again. It is kept
// in the rows of the ClusterState and shown at once, but stored only with what must last (saves, exits, leaving, an
// attempt's end), and once every kProgressEvery. So the store's rows may be behind in these fields, and in no others:
// Rank::step and step_time, Attempt::last_step. Pure.
#pragma once

#include "scheduler/core/model/rows.h"

namespace glim::core {

// One row an attempt in this time while nothing but steps happens to it.
inline constexpr Duration kProgressEvery = Minutes(1);

// Do the rows differ in progress alone? `row` is as it was afterwards.
bool DiffersInProgressAlone(const Task& old, Task& row);
bool DiffersInProgressAlone(const Attempt& old, Attempt& row);

// Are the rows the same but for progress? What a store and the state that it keeps agree in.
template <typename Row>
bool SameButProgress(const Row& a, const Row& b) {
  return a == b;
}
inline bool SameButProgress(const Task& a, Task b) { return DiffersInProgressAlone(a, b); }
inline bool SameButProgress(const Attempt& a, Attempt b) { return DiffersInProgressAlone(a, b); }

}  // namespace glim::core
