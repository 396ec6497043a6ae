// A cluster that lives a trace in virtual time: the production core and its Drive loop, with the least around them that
// answers for nodes and ranks, so that months cost seconds.
//
// What is left out: messages take no time and are not lost, and nodes send no heartbeats (world.h has all of that). A
// start runs at once, an interrupt is answered at once by a save, and costs its restore: an attempt that comes back
// works only after `restore`. Work is kept in milliseconds. A failure of a node throws its job back to the last
// periodic checkpoint. Events of one virtual millisecond are one batch; what nodes answer to it is the next.
//
// Single-threaded. The same options and trace give the same outcome but for pass_us.
//
// Sources: trace_world.cc, trace_attempts.cc (what nodes and ranks do)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "scheduler/core/core.h"
#include "scheduler/sim/baselines/baseline_planner.h"
#include "scheduler/sim/trace/trace_estimates.h"
#include "scheduler/sim/trace/trace_faults.h"
#include "scheduler/sim/trace/trace_idle.h"
#include "scheduler/sim/trace/trace_reader.h"
#include "sdk/base/rng.h"

namespace glim::sim {

struct TraceOptions {
  core::PlannerKind planner = core::PlannerKind::kTimeSharing;
  std::uint32_t nodes = 1;
  std::uint32_t zones = 1;               // z1, z2, ...; the nodes are dealt out evenly, in order
  std::uint32_t leaf_nodes = 32;         // nodes of a leaf
  std::vector<TraceNode> cluster;        // its own nodes, in place of the three above; empty: nodes of 8 GPUs alike
  Duration restore_small = Seconds(40);  // of jobs of up to 8 GPUs
  Duration restore_large = Seconds(60);
  std::optional<std::vector<core::AccountChange>> quotas;  // in place of the policy's
  core::Policy policy;                                     // bounds and timers that a trace must not meet are raised
  bool exact_limits = false;  // every job's time limit is its duration: for EASY, which knows them
  std::optional<FaultPlan> faults;
  bool estimates = false;            // ask for some: of the time-sharing planner only, baselines have none
  std::uint64_t seed = 1;            // of the faults
  std::uint64_t check_every = 1000;  // batches between two looks at the invariants; a last one at the end
};

struct TracedJob {
  Duration duration;
  std::uint32_t nodes = 1;
  TimePoint submitted;
  TimePoint ended;              // 0: not by the end of the run, which is a violation
  Duration longest_wait;        // without its nodes, at a stretch
  bool promise_broken = false;  // it waited longer than it was promised when that wait began
  core::PriorityClass priority = core::PriorityClass::kNormal;
  bool counted = true;  // false: load, and in no figure of jobs
};

struct TraceOutcome {
  std::vector<TracedJob> jobs;
  std::uint64_t refused = 0;  // larger than the cluster; of its own nodes: for whatever reason
  std::uint64_t interrupts = 0;
  std::uint64_t node_failures = 0;               // of nodes, in use or not
  std::uint64_t thrown_back = 0;                 // attempts that ended so
  std::uint32_t cross_zone_allocations_max = 0;  // attempts over two zones, most at a time
  std::int64_t busy_node_ms = 0;                 // held, restores included
  std::int64_t busy_until_last_submit_node_ms = 0;
  std::int64_t restore_node_ms = 0;
  std::int64_t lost_node_ms = 0;     // work done again after a failure
  std::int64_t overhead_gpu_ms = 0;  // GPU-time of both: of the GPUs that these nodes have
  // Until the last submission (trace_idle.h).
  std::int64_t idle_while_fit_node_ms = 0;
  std::int64_t backfill_hold_idle_node_ms = 0;
  std::vector<AskedEstimate> estimates;
  TimePoint first_submit;
  TimePoint last_submit;
  TimePoint end;
  std::uint64_t batches = 0;
  std::uint64_t violations = 0;
  std::vector<std::string> violation_texts;  // the first few
  std::vector<double> pass_us;               // of each Drive that planned
};

class TraceWorld {
 public:
  TraceWorld(TraceOptions options, std::vector<TraceJob> trace);
  TraceOutcome Run();  // once

 private:
  // A job of the trace, and its present attempt.
  struct Traced {
    TimePoint waits_since;
    Duration promised;        // of this wait; 0: nothing
    Duration done;            // work that an interruption keeps
    core::AttemptId attempt;  // that has or had its nodes
    bool holds = false;
    bool answered = false;       // its end is on its way
    bool was_cut_short = false;  // it has something to restore
    bool thrown_back = false;
    TimePoint started;
    Duration restore;       // of this attempt
    Duration restored;      // as its rank 0 reports it; 0 until then
    Duration checkpointed;  // work in the newest periodic save, when a node fails
  };
  enum class Kind : std::uint8_t { kRestored, kWorkDone, kNodeFails, kNodeReturns };
  struct Due {
    TimePoint at;
    std::uint64_t made = 0;
    Kind kind = Kind::kWorkDone;
    core::AttemptId attempt;
    std::uint32_t node = 0;  // index
    bool operator>(const Due& other) const { return std::pair(at, made) > std::pair(other.at, other.made); }
  };
  struct SimNode {
    core::NodeConnected hello;
    core::AttemptId runs;  // what has a task here
    bool down = false;
  };

  void Boot();
  TimePoint NextMoment() const;
  void TakeDue();
  void Settle();
  void DriveOnce();
  void Post(decltype(core::Event::what) what, std::size_t row);
  void Submit(std::size_t row);
  void ActOn(const Due& due);
  void After(Duration wait, Kind kind, core::AttemptId attempt, std::uint32_t node);
  void Accrue();
  void Check();
  void Promise();
  void Violation(const std::string& what);

  // trace_attempts.cc
  void See(const core::Attempt& attempt);
  void Started(std::size_t row, const core::Attempt& attempt);
  void AnswerInterrupt(std::size_t row, const core::Attempt& attempt);
  void AnswerStop(std::size_t row, const core::Attempt& attempt);
  void Ended(std::size_t row, const core::Attempt& attempt);
  void ReportRestored(std::size_t row);
  void ReportDone(std::size_t row);
  void Fail(std::uint32_t node);
  void Return(std::uint32_t node);
  Duration Progress(const Traced& traced) const;
  std::int64_t GpusOf(const core::Attempt& attempt) const;
  core::Rank RankOf(const Traced& traced, std::uint32_t index, Duration work) const;
  core::Rank RankAtFailure(const Traced& traced, Duration work) const;
  void Report(const core::Attempt& attempt, std::uint32_t index, core::ObservedTask task);
  std::size_t RowOf(core::JobId job) const { return row_of_job_.at(job.value); }

  const TraceOptions options_;
  const std::vector<TraceJob> trace_;
  const core::Policy policy_;
  Rng rng_;
  core::ClusterState state_;
  TimePoint now_;
  TimePoint wake_;
  TimePoint progressed_at_;  // the newest start or end of an attempt
  TimePoint accrued_until_;
  std::uint64_t seq_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t checks_ = 0;
  std::size_t next_row_ = 0;  // of the trace, not submitted yet
  std::size_t unfinished_ = 0;
  std::int64_t nodes_held_ = 0;
  std::uint32_t cross_zone_allocations_ = 0;
  std::vector<core::Event> inbox_;
  std::vector<std::size_t> rows_in_inbox_;                     // beside inbox_: of submissions
  std::vector<std::shared_ptr<const core::Attempt>> changed_;  // by the last Drive
  std::vector<core::JobId> began_to_wait_;
  std::vector<Traced> traced_;           // by row
  std::vector<std::size_t> row_of_job_;  // by the job's number
  std::vector<SimNode> nodes_;           // by NodeId - 1
  std::uint64_t made_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  IdleMeter idle_;
  EstimateSampler estimates_;
  TraceOutcome outcome_;
};

}  // namespace glim::sim
