// PassTrace: what one planning pass tried for a job, step by step, in words with amounts. A pass that is given none
// writes none: a null pointer is looked at, and that is all it costs.
//
// Jobs of one shape share one verdict, and the first of them may be asked for all: the trace is of the shape, and says
// which job was asked. Owned by whoever asks for it; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/enum_words.h"

namespace glim::core {

// In the order of the recipe (planner.h).
enum class TraceStage : std::uint8_t {
  kOrder,
  kQuota,
  kPlacement,
  kCrossing,
  kPreemption,
  kMove,
  kHold,
  kVerdict,
  kOtherwise  // what would start it: tried by further passes (advice/what_if.h)
};
template <>
inline constexpr auto kEnumWords<TraceStage> = std::to_array<EnumWord<TraceStage>>({
    {TraceStage::kOrder, "order"},
    {TraceStage::kQuota, "quota"},
    {TraceStage::kPlacement, "placement"},
    {TraceStage::kCrossing, "crossing"},
    {TraceStage::kPreemption, "preemption"},
    {TraceStage::kMove, "move"},
    {TraceStage::kHold, "hold"},
    {TraceStage::kVerdict, "verdict"},
    {TraceStage::kOtherwise, "otherwise"},
});

struct TraceStep {
  TraceStage stage = TraceStage::kOrder;
  std::string message;
  std::vector<NodeId> nodes;  // that it is about, at most kTraceNamedMax
  std::vector<JobId> jobs;    // likewise
};

inline constexpr std::size_t kTraceNamedMax = 100;
inline constexpr std::size_t kTraceStepsMax = 400;

class PassTrace {
 public:
  explicit PassTrace(const Job& job) : job_(job.id), shape_(ShapeOf(job)) {}

  // Is what happens to this one to be told?
  bool IsAbout(const Job& job) const { return job.id == job_ || ShapeOf(job) == shape_; }
  bool IsAbout(const Shape& shape) const { return shape == shape_; }
  JobId job() const { return job_; }

  void Add(TraceStage stage, std::string message, std::vector<NodeId> nodes = {}, std::vector<JobId> jobs = {}) {
    if (steps_.size() == kTraceStepsMax) {
      ++left_out_;
      return;
    }
    if (nodes.size() > kTraceNamedMax) nodes.resize(kTraceNamedMax);
    if (jobs.size() > kTraceNamedMax) jobs.resize(kTraceNamedMax);
    steps_.push_back({stage, std::move(message), std::move(nodes), std::move(jobs)});
  }
  // Another job of the shape started, and what was tried for it is not this one's.
  void Forget() {
    steps_.clear();
    left_out_ = 0;
  }

  const std::vector<TraceStep>& steps() const { return steps_; }
  std::size_t left_out() const { return left_out_; }

 private:
  const JobId job_;
  const Shape shape_;
  std::vector<TraceStep> steps_;
  std::size_t left_out_ = 0;
};

}  // namespace glim::core
