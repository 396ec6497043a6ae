// RisingTotals: sums of the ledger as Prometheus wants counters: they begin at 0 with the process and never fall.
//
// The ledger itself is older than the process, and falls when a node is removed, whose ledger goes with it. Taken as it
// is, the fall would look like a restart, and everything that was ever booked like the work of one scrape. So what is
// counted is how much each sum has grown since the scrape before; a sum that fell begins to grow from where it fell to.
// Exact sums: `glim admin report`. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scheduler/core/model/rows.h"

namespace glim::server {

class RisingTotals {
 public:
  explicit RisingTotals(const core::UseTotals& now) : last_(now) {}

  const core::UseTotals& Follow(const core::UseTotals& now) {
    for (std::size_t use = 0; use < core::kUses; ++use) {
      if (now[use] > last_[use]) grown_[use] += now[use] - last_[use];
      last_[use] = now[use];
    }
    return grown_;
  }

 private:
  core::UseTotals last_;
  core::UseTotals grown_{};
};

}  // namespace glim::server
