// What a user submitted, checked. Immutable after submission; shared by every copy of its job's row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::core {

// HAI's classes by number; the order of the numbers is the order of urgency.
enum class PriorityClass : std::int32_t {
  kAuto = -1,  // the highest class with quota left, frozen at dispatch
  kLow = 0,
  kBelowNormal = 5,
  kUnderNormal = 8,
  kNormal = 10,
  kAboveNormal = 20,
  kHigh = 30,
  kVeryHigh = 40,
  kExtremeHigh = 50,
};
const char* ToString(PriorityClass priority);
// Accepts names ("above_normal", "above-normal") and numbers ("20").
Result<PriorityClass> ParsePriority(const std::string& text);

enum class Launcher { kNode, kPerGpu };
// kAuto: by the signal, until a rank of the job has said hello; cooperative for good from then on.
enum class InterruptMode { kAuto, kCooperative, kSignal };
// Which processes of a task get the signal: the programs that handle it (nodeagent/core/asked_processes.h), or all.
enum class InterruptTo { kMain, kAll };
enum class CrossZone { kAuto, kNever };
enum class LeafPolicy { kPack, kAny };
enum class NvLink { kNone, kPair, kFull };  // ordered: a node with more satisfies a request for less
const char* ToString(NvLink nvlink);

struct Placement {
  std::vector<std::string> zones;  // any of these; empty: any
  LeafPolicy leaf = LeafPolicy::kPack;
  CrossZone cross_zone = CrossZone::kAuto;
  std::string gpu_type;  // empty: any
  NvLink nvlink = NvLink::kNone;
  std::string nic;   // empty: any
  std::string node;  // this very one, by its name, of a job of one node; empty: any
  friend auto operator<=>(const Placement&, const Placement&) = default;
};

// A folder or file of the node that a task is to see.
struct Mount {
  std::string source;  // absolute, on the node
  std::string target;  // absolute, in the task
  bool read_only = false;
  friend bool operator==(const Mount&, const Mount&) = default;
};

// Of each node; 0: as much as the node has.
struct TaskLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t cpu_millis = 0;  // thousandths of a CPU
  std::int64_t pids = 0;        // processes and threads
  std::int64_t shm_bytes = 0;   // /dev/shm
  friend bool operator==(const TaskLimits&, const TaskLimits&) = default;
};

// What must have become of another job before this one may start.
enum class DependencyKind { kOk, kFailed, kAny };
const char* ToString(DependencyKind kind);
struct Dependency {
  JobId job;
  DependencyKind when = DependencyKind::kOk;  // it succeeded; it failed or was cancelled; it is over
  bool keep = false;                          // where it ends otherwise: the job stays queued; else the job fails
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// What becomes of a job whose newest save lies on a lost node alone.
enum class IfUnreachable { kOlder, kWait };
const char* ToString(IfUnreachable value);

// An archive of the workdir, made at the submission, that every attempt runs in.
struct CodeSnapshot {
  std::string path;      // below the cluster's checkpoint root; empty: there is none
  std::string sha256;    // of its bytes, hex
  std::string revision;  // git's; empty: no repository
  std::int64_t bytes = 0;
  friend bool operator==(const CodeSnapshot&, const CodeSnapshot&) = default;
};

// One of the user's secrets that the job's tasks find (docs/job-spec.md, Secrets). The value is in no spec.
struct SecretUse {
  std::string name;
  std::string env;  // a variable that holds it as well; empty: its file alone
  friend bool operator==(const SecretUse&, const SecretUse&) = default;
};

// Who is told what becomes of the job.
struct NotifySpec {
  std::vector<std::string> on;  // of kNotifyOn
  std::vector<std::string> to;  // names of the policy's; empty: nobody is told
  friend bool operator==(const NotifySpec&, const NotifySpec&) = default;
};
inline constexpr std::string_view kNotifyInterrupted = "interrupted";
inline constexpr std::string_view kNotifyFailed = "failed";
inline constexpr std::string_view kNotifyDone = "done";
inline constexpr std::string_view kNotifyOn[] = {kNotifyInterrupted, kNotifyFailed, kNotifyDone};

struct JobSpec {
  std::string name;
  std::string pool = "default";  // empty until the submission is taken in: its team's
  PriorityClass priority = PriorityClass::kNormal;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 8;
  Placement placement;
  std::string image = "host";
  std::string workdir;
  std::string run;
  Launcher launcher = Launcher::kNode;
  std::vector<std::pair<std::string, std::string>> env;
  InterruptMode interrupt_mode = InterruptMode::kAuto;
  Duration grace = Seconds(60);
  Duration max_grace = Seconds(300);
  std::string interrupt_signal = "TERM";
  InterruptTo interrupt_to = InterruptTo::kMain;
  std::string checkpoint_dir;
  Duration checkpoint_every;  // 0: not said
  std::uint32_t checkpoint_keep = 3;
  IfUnreachable if_unreachable = IfUnreachable::kOlder;
  std::vector<std::string> restart_on = {"node_failure", "xid", "network"};
  std::uint32_t restart_max = 20;
  Duration restart_backoff = Seconds(30);
  std::vector<Mount> mounts;
  TaskLimits limits;
  Duration time_limit;            // of running, over all attempts; 0: none
  std::vector<Dependency> after;  // all of them
  CodeSnapshot snapshot;
  std::string team;  // whose share and quota it counts for; empty: the user's first
  std::vector<SecretUse> secrets;
  bool api = false;  // its tasks find a token for the scheduler's API: for this job and those that it submits
  NotifySpec notify;
  TimePoint start_after;  // it is not planned before; 0: at once
  Duration no_progress;   // watchdog.no_progress: it stands still after that long without a sign of life; 0: not said

  std::uint32_t ranks_per_node() const { return launcher == Launcher::kPerGpu ? gpus_per_node : 1; }
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace glim::core
