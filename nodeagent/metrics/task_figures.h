// TaskFigures: what an agent's reports, one after the other, tell of its tasks: how many there are in each phase, how
// long they took to start and to be gone, how often that failed. On the agent's loop.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <map>
#include <tuple>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/time.h"

namespace glim::nodeagent {

class TaskFigures {
 public:
  // Makes its series at once, with 0.
  explicit TaskFigures(prometheus::Registry* registry);

  // `report` has all tasks of the node; `now` never goes back. Tasks that were there before the first report began with
  // an earlier agent: how long they took is not known.
  void Look(const v1::NodeReport& report, TimePoint now);

 private:
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // job, attempt, index
  struct Seen {
    v1::ObservedTask::Phase phase = v1::ObservedTask::STARTING;
    TimePoint since;  // of the phase; 0: before the first report
  };
  void Moved(const v1::ObservedTask& task, const Seen& before, TimePoint now);

  static constexpr int kPhases = 4;
  std::array<prometheus::Gauge*, kPhases> tasks_{};
  prometheus::Histogram* starts_ = nullptr;
  prometheus::Histogram* ends_ = nullptr;
  prometheus::Counter* started_failed_ = nullptr;
  prometheus::Counter* lost_ = nullptr;
  prometheus::Gauge* faults_ = nullptr;
  std::map<Key, Seen> seen_;
  bool looked_ = false;
};

}  // namespace glim::nodeagent
