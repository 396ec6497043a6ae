// A node's agent and its machine: takes desired sets, starts and stops tasks, reports the whole of what it sees.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/event.h"
#include "scheduler/sim/world/sim_run.h"
#include "scheduler/sim/world/timeline.h"
#include "sdk/base/rng.h"

namespace glim::sim {

// A desired task as it travels: values only, for it arrives later than it was made.
struct SentTask {
  core::TaskId id;
  std::uint32_t life = 0;  // how often the store had been restored from a backup (world_backup.cc)
  bool launch = false;
  bool interrupt = false;
  core::Agreement agreement;
  bool stop = false;
  core::Checkpoint base;
  std::optional<core::TaskUser> user{};
  bool in_memory = false;  // neighbours may hold copies of the base in memory
};

// What is wrong with a machine for a while.
struct Trouble {
  bool hangs = false;       // what is started there is never seen running
  Duration slow;            // a start takes that much longer
  bool disk_full = false;   // nothing can be started or saved there, and its agent remembers nothing of an order
  bool lacks_path = false;  // a file system is not mounted there
  bool keeps = false;       // what is killed there does not go
  bool path_hangs = false;  // a file system does not answer there
};

// Starts and saves that met trouble.
struct TroublesMet {
  std::uint64_t hung_starts = 0, slow_starts = 0, full_disk_starts = 0, full_disk_saves = 0;
  std::uint64_t missing_paths = 0, own_faults = 0, kept_tasks = 0, hung_paths = 0;
};

class SimAgent {
 public:
  struct World {
    Timeline& timeline;
    Rng& rng;
    // Lands at the scheduler: the report, and the epoch of the desired state that it answers.
    std::function<void(core::NodeReported, std::uint64_t epoch)> report;
    // The attempt's gang, of that life of the store.
    std::function<std::shared_ptr<SimRun>(core::TaskId, std::int64_t base_step, std::uint32_t life)> join;
    std::function<const JobScript&(core::JobId)> script;
    // Whether some agent that can be reached has the save.
    std::function<bool(core::NodeId reader, core::JobId, const core::Checkpoint&)> fetch;
    std::function<void(core::NodeId, const SentTask&)> launched;      // before anything of it is started
    std::function<void(core::TaskId, std::uint32_t agreement)> told;  // of an interrupt
    std::function<void(const std::string&)> violation;
    std::function<std::vector<core::ProbeResult>(core::NodeId)> reached;  // what it has found of others
    Duration kill_after_term;
    TroublesMet& met;
  };

  SimAgent(core::NodeId node, World world) : node_(node), world_(std::move(world)) {}

  // A new stream; 0: there is none, and what is under way in either direction is lost.
  void SetSession(std::uint64_t session);
  std::uint64_t session() const { return session_; }

  // Older (epoch, revision) pairs than the newest taken in are ignored: false.
  bool TakeIn(std::uint64_t epoch, std::uint64_t revision, const std::vector<SentTask>& desired);
  // Whether a save of the job lies in this machine's own checkpoint folder.
  // All of it, or a part.
  bool HasSave(core::JobId job, const std::string& local) const;
  bool HasPart(core::JobId job, const std::string& local) const { return disk_.contains({job, local}); }
  // What has processes on this machine.
  std::vector<core::TaskId> Running() const;
  // The same, and what is gone, until no scheduler lists it.
  std::vector<core::TaskId> Recorded() const;
  // Of all that was ever launched here.
  core::JobId highest_job() const { return highest_job_; }
  // An operator ends by hand what no scheduler lists.
  void KillOrphans();
  // The machine starts anew: its processes are gone, the agent's records are not.
  void Reboot();
  // The supervisor of a running task is killed: its ranks train on, and nobody vouches for them. False: nothing runs.
  bool LoseSupervisor();
  // The agent's process starts anew beside running tasks.
  void Restart();
  // Its tasks' ranks and those on other machines no longer reach each other.
  void LoseContact();
  // From now on; what hangs already hangs for ever.
  void Suffer(const Trouble& trouble) { trouble_ = trouble; }
  // Its checks found this, once, or it is so or is no longer so. The newest of what they found is told with every
  // report, also by a new agent; a boot of the machine begins anew.
  void Find(core::HealthReading found);
  void SetCondition(const core::HealthCondition& condition, bool is_so);
  void Mend() { conditions_.clear(); }
  // It says that it runs these, too, from now on.
  void Claim(std::vector<core::AttemptId> attempts) { claims_ = std::move(attempts); }
  // Whether a save can be laid into this machine's own checkpoint folder.
  bool CanSave();
  // Something of this task changed: report soon.
  void Changed() { ReportSoon(); }
  void Heartbeat();

 private:
  struct SimTask {
    std::uint32_t life = 0;
    bool listed = true;  // by the newest desired set
    core::TaskPhase phase = core::TaskPhase::kStarting;
    std::shared_ptr<SimRun> run;
    bool lost = false;
    bool start_failed = false;
    bool job_fault = false;
    bool path_missing = false;
    bool path_hangs = false;
    bool stopping = false;
    bool leaving_node = false;  // its release is on the way
    bool save_missing = false;
    std::int64_t copied_bytes = 0;
    std::optional<core::Agreement> agreement;  // raised before there was anybody to hear it
  };

  void Launch(const SentTask& wanted);
  bool StartFails(const JobScript& script, SimTask& task);
  void Copy(const SentTask& wanted, int pieces_left);
  void Begin(core::TaskId id, std::int64_t base_step);
  void SeeRunning(core::TaskId id);
  void Stop(core::TaskId id);
  void Kill(core::TaskId id);
  void Release(core::TaskId id);
  void ReportSoon();
  void SendReport();

  const core::NodeId node_;
  std::uint64_t session_ = 0;
  std::pair<std::uint64_t, std::uint64_t> newest_{0, 0};
  const World world_;
  Trouble trouble_;
  std::uint32_t boots_ = 1;
  std::uint64_t found_seq_ = 0;
  std::vector<core::HealthReading> found_;
  std::vector<core::HealthCondition> conditions_;
  std::map<core::TaskId, SimTask> tasks_;
  core::JobId highest_job_;
  std::vector<core::AttemptId> claims_;
  // Saves, and whether all of one is there. Outlives the agent and the machine's reboots.
  std::map<std::pair<core::JobId, std::string>, bool> disk_;
  bool report_due_ = false;
  TimePoint report_lands_;  // reports of one stream arrive in order
};

}  // namespace glim::sim
