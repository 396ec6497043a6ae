// A node's agent and its machine: takes desired sets, starts and stops tasks, reports the whole of what it sees.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/event.h"
#include "scheduler/sim/sim_run.h"
#include "scheduler/sim/timeline.h"
#include "sdk/base/rng.h"

namespace glim::sim {

// A desired task as it travels: values only, for it arrives later than it was made.
struct SentTask {
  core::TaskId id;
  bool launch = false;
  bool interrupt = false;
  core::Round round;
  bool stop = false;
  std::int64_t base_step = -1;
};

class SimAgent {
 public:
  struct World {
    Timeline& timeline;
    Rng& rng;
    std::function<void(core::NodeReported)> report;
    std::function<std::shared_ptr<SimRun>(core::TaskId, std::int64_t base_step)> join;  // the attempt's gang
    std::function<const JobScript&(core::JobId)> script;
    std::function<void(const std::string&)> violation;
    Duration kill_after_term;
  };

  SimAgent(core::NodeId node, std::uint64_t session, World world) : node_(node), session_(session), world_(std::move(world)) {}

  void TakeIn(const std::vector<SentTask>& desired);
  // Something of this task changed: report soon.
  void Changed() { ReportSoon(); }
  void Heartbeat();

 private:
  struct SimTask {
    core::TaskPhase phase = core::TaskPhase::kStarting;
    std::shared_ptr<SimRun> run;
    bool lost = false;
    bool start_failed = false;
    bool stopping = false;
    bool leaving_node = false;  // its release is on the way
  };

  void Launch(const SentTask& wanted);
  void Stop(core::TaskId id);
  void Kill(core::TaskId id);
  void Release(core::TaskId id);
  void ReportSoon();
  void SendReport();

  const core::NodeId node_;
  const std::uint64_t session_;
  const World world_;
  std::map<core::TaskId, SimTask> tasks_;
  bool report_due_ = false;
  TimePoint report_lands_;  // reports of one stream arrive in order
};

}  // namespace glim::sim
