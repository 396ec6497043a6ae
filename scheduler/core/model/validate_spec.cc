#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "scheduler/core/model/allowed_paths.h"
#include "scheduler/core/model/spec.h"
#include "scheduler/core/model/validate_spec.h"
#include "sdk/base/snapshot_name.h"

namespace glim::core {
namespace {

constexpr std::size_t kNameMax = 128;
constexpr std::size_t kTextMax = 16 * 1024;
constexpr std::size_t kPathMax = 1024;
constexpr std::size_t kEnvMax = 256;
constexpr std::uint32_t kNodesMax = 20'000;
constexpr std::uint32_t kGpusMax = 64;
constexpr std::size_t kMountsMax = 64;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kMemoryMax = std::int64_t{1} << 50;
constexpr Duration kGraceMax = Hours(24);
constexpr Duration kTimeLimitMin = Seconds(1);
constexpr Duration kTimeLimitMax = Hours(24 * 365);
constexpr std::size_t kAfterMax = 64;

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool HasControl(const std::string& text, bool newline_allowed) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u < 0x20 && !(newline_allowed && (c == '\n' || c == '\t'))) || u == 0x7f;
  });
}

Status CheckWord(const char* field, const std::string& text, bool required) {
  if (text.empty()) {
    return required ? InvalidArgument(field, "is empty", "give it a name") : Status::Ok();
  }
  if (text.size() > kNameMax) {
    return InvalidArgument(field, std::to_string(text.size()) + " characters are too many",
                           "use at most " + std::to_string(kNameMax));
  }
  if (!std::all_of(text.begin(), text.end(), IsWordChar)) {
    return InvalidArgument(field, "has characters that are not allowed", "use letters, digits, '.', '_' and '-'");
  }
  return Status::Ok();
}

Status CheckText(const std::string& field, const std::string& text, std::size_t bytes_max, bool newline_allowed) {
  if (text.size() > bytes_max) {
    return InvalidArgument(field, std::to_string(text.size()) + " bytes are too many",
                           "use at most " + std::to_string(bytes_max));
  }
  if (HasControl(text, newline_allowed)) {
    return InvalidArgument(field, "has control characters", "remove them");
  }
  return Status::Ok();
}

Status CheckRange(const char* field, std::int64_t value, std::int64_t low, std::int64_t high, const char* unit = "") {
  if (value >= low && value <= high) return Status::Ok();
  return InvalidArgument(field, std::to_string(value) + unit + " is out of range",
                         "use " + std::to_string(low) + unit + " to " + std::to_string(high) + unit);
}

Status CheckEnv(const JobSpec& spec) {
  if (spec.env.size() > kEnvMax) {
    return InvalidArgument("env", std::to_string(spec.env.size()) + " variables are too many",
                           "use at most " + std::to_string(kEnvMax));
  }
  std::set<std::string> seen;
  for (const auto& [name, value] : spec.env) {
    const bool word =
        !name.empty() && name.size() <= kNameMax && !(name[0] >= '0' && name[0] <= '9') &&
        std::all_of(name.begin(), name.end(), [](char c) { return IsWordChar(c) && c != '.' && c != '-'; });
    if (!word)
      return InvalidArgument("env", "'" + name.substr(0, 40) + "' is not a variable name",
                             "use letters, digits and '_', not beginning with a digit");
    if (!seen.insert(name).second) return InvalidArgument("env." + name, "is given twice", "keep one");
    if (name.rfind("GLIM_", 0) == 0) {
      return InvalidArgument("env." + name, "GLIM_ variables are set by the platform", "choose another name");
    }
    if (Status s = CheckText("env." + name, value, kTextMax, true); !s.ok()) return s;
  }
  return Status::Ok();
}

Status CheckInterrupt(const JobSpec& spec) {
  static const std::set<std::string> kSignals = {"TERM", "INT", "HUP", "USR1", "USR2"};
  if (Status s = CheckRange("interrupt.grace", spec.grace.ms, 0, kGraceMax.ms, " ms"); !s.ok()) return s;
  if (Status s = CheckRange("interrupt.max_grace", spec.max_grace.ms, 0, kGraceMax.ms, " ms"); !s.ok()) return s;
  if (spec.max_grace < spec.grace) {
    return InvalidArgument("interrupt.max_grace", "is less than interrupt.grace", "raise it, or lower the grace");
  }
  if (!kSignals.contains(spec.interrupt_signal)) {
    return InvalidArgument("interrupt.signal", "is not a signal that a job can be asked with",
                           "use TERM, INT, HUP, USR1 or USR2");
  }
  return Status::Ok();
}

Status CheckRestart(const JobSpec& spec) {
  static const std::set<std::string> kReasons = {"node_failure", "xid", "hang"};
  if (spec.restart_on.size() > 16) return InvalidArgument("restart.on", "too many causes", "name each once");
  for (const auto& reason : spec.restart_on) {
    if (!kReasons.contains(reason)) {
      return InvalidArgument("restart.on", "'" + reason.substr(0, 40) + "' is not a cause of restarts",
                             "use node_failure, xid or hang");
    }
  }
  if (Status s = CheckRange("restart.max", spec.restart_max, 0, 10'000); !s.ok()) return s;
  return CheckRange("restart.backoff", spec.restart_backoff.ms, 0, Hours(24).ms, " ms");
}

Status CheckPlacement(const Placement& placement) {
  if (placement.zones.size() > 64) return InvalidArgument("placement.zones", "too many zones", "use at most 64");
  for (const auto& zone : placement.zones) {
    if (Status s = CheckWord("placement.zones", zone, true); !s.ok()) return s;
  }
  if (Status s = CheckWord("placement.gpu_type", placement.gpu_type, false); !s.ok()) return s;
  return CheckWord("placement.nic", placement.nic, false);
}

// Absolute, and with one spelling: "/data", not "/data/", "//data" or "/x/../data". What is allowed to a job is told by
// its path, so a path must not mean another than it says.
Status CheckPath(const std::string& field, const std::string& path) {
  const std::string closed = path + "/";
  const bool plain = path.size() > 1 && path[0] == '/' && path.back() != '/' && path.find("//") == std::string::npos &&
                     closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos;
  if (!plain) return InvalidArgument(field, "is not a plain absolute path", "write it like /data/set");
  return CheckText(field, path, kPathMax, false);
}

Status CheckCommand(const JobSpec& spec) {
  if (spec.image != "host") {
    return InvalidArgument("image", "only 'host' is supported by this version", "use image: host");
  }
  if (spec.run.empty()) return InvalidArgument("run", "is empty", "say which command to run");
  if (spec.workdir != "/") {
    if (Status s = CheckPath("workdir", spec.workdir); !s.ok()) return s;
  }
  if (Status s = CheckText("run", spec.run, kTextMax, true); !s.ok()) return s;
  return spec.checkpoint_dir.empty() ? Status::Ok() : CheckPath("checkpoint.dir", spec.checkpoint_dir);
}

Status CheckMounts(const std::vector<Mount>& mounts) {
  if (mounts.size() > kMountsMax) {
    return InvalidArgument("mounts", std::to_string(mounts.size()) + " mounts are too many",
                           "use at most " + std::to_string(kMountsMax));
  }
  std::set<std::string> targets;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string field = "mounts[" + std::to_string(i) + "]";
    if (Status s = CheckPath(field + ".source", mounts[i].source); !s.ok()) return s;
    if (Status s = CheckPath(field + ".target", mounts[i].target); !s.ok()) return s;
    if (IsOfTheImage(mounts[i].target)) {
      return InvalidArgument(field + ".target", mounts[i].target + " belongs to the image",
                             "mount it elsewhere, for example at /data");
    }
    if (!targets.insert(mounts[i].target).second) {
      return InvalidArgument(field + ".target", mounts[i].target + " is given twice", "keep one");
    }
  }
  return Status::Ok();
}

// What every attempt runs is bind-mounted over the workdir: that must not be the system's own.
Status CheckSnapshot(const JobSpec& spec) {
  const CodeSnapshot& snapshot = spec.snapshot;
  if (snapshot == CodeSnapshot{}) return Status::Ok();
  if (!IsSha256(snapshot.sha256)) {
    return InvalidArgument("snapshot.sha256", "is no SHA-256", "give it as 64 lower-case hex digits");
  }
  if (Status s = CheckPath("snapshot.path", snapshot.path); !s.ok()) return s;
  if (Sha256OfSnapshotPath(snapshot.path) != snapshot.sha256) {
    return InvalidArgument("snapshot.path", "is no archive of that hash",
                           "lay it at CHECKPOINT_ROOT/snapshots/SHA256.tar.zst, as glim submit --snapshot does");
  }
  const std::string& revision = snapshot.revision;
  if (revision.size() > kNameMax || !std::all_of(revision.begin(), revision.end(), IsWordChar)) {
    return InvalidArgument("snapshot.revision", "is no revision", "give git's, or nothing");
  }
  if (IsOfTheImage(spec.workdir) || spec.workdir == "/") {
    return InvalidArgument("workdir", spec.workdir + " belongs to the image: a snapshot cannot stand there",
                           "submit from another folder, or leave out 'code: snapshot'");
  }
  return CheckRange("snapshot.bytes", snapshot.bytes, 1, kSnapshotArchiveBytesMax, " bytes");
}

// 0 is "no limit"; less than the least would keep any program from starting.
Status CheckLimits(const TaskLimits& limits) {
  const auto check = [](const char* field, std::int64_t value, std::int64_t least, std::int64_t most) {
    return value == 0 ? Status::Ok() : CheckRange(field, value, least, most);
  };
  if (Status s = check("limits.memory", limits.memory_bytes, 16 * kMebibyte, kMemoryMax); !s.ok()) return s;
  if (Status s = check("limits.cpus", limits.cpu_millis, 10, 4'096'000); !s.ok()) return s;
  if (Status s = check("limits.pids", limits.pids, 16, 4'194'304); !s.ok()) return s;
  return check("limits.shm", limits.shm_bytes, kMebibyte, kMemoryMax);
}

Status CheckAfter(const std::vector<Dependency>& after) {
  if (after.size() > kAfterMax) {
    return InvalidArgument("after", std::to_string(after.size()) + " jobs are too many",
                           "use at most " + std::to_string(kAfterMax));
  }
  std::set<JobId> jobs;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::string field = "after[" + std::to_string(i) + "]";
    if (!after[i].job) return InvalidArgument(field, "names no job", "write the job's number, as in 812:ok");
    if (!jobs.insert(after[i].job).second) {
      return InvalidArgument(field, "job " + std::to_string(after[i].job.value) + " is given twice", "keep one");
    }
  }
  return Status::Ok();
}

}  // namespace

Status ValidateSpec(const JobSpec& spec) {
  if (Status s = CheckWord("name", spec.name, true); !s.ok()) return s;
  if (Status s = CheckWord("pool", spec.pool, true); !s.ok()) return s;
  if (Status s = CheckRange("nodes", spec.nodes, 1, kNodesMax); !s.ok()) return s;
  const std::uint32_t gpus_min = spec.launcher == Launcher::kPerGpu ? 1 : 0;
  if (Status s = CheckRange("gpus_per_node", spec.gpus_per_node, gpus_min, kGpusMax); !s.ok()) return s;
  if (Status s = CheckPlacement(spec.placement); !s.ok()) return s;
  if (Status s = CheckCommand(spec); !s.ok()) return s;
  if (Status s = CheckEnv(spec); !s.ok()) return s;
  if (Status s = CheckInterrupt(spec); !s.ok()) return s;
  if (Status s = CheckRange("checkpoint.every", spec.checkpoint_every.ms, 0, Hours(24 * 30).ms, " ms"); !s.ok())
    return s;
  if (Status s = CheckRange("checkpoint.keep", spec.checkpoint_keep, 1, 1000); !s.ok()) return s;
  if (Status s = CheckRestart(spec); !s.ok()) return s;
  if (Status s = CheckMounts(spec.mounts); !s.ok()) return s;
  if (Status s = CheckSnapshot(spec); !s.ok()) return s;
  if (Status s = CheckLimits(spec.limits); !s.ok()) return s;
  if (spec.time_limit.ms != 0) {
    Status s = CheckRange("limits.time", spec.time_limit.ms, kTimeLimitMin.ms, kTimeLimitMax.ms, " ms");
    if (!s.ok()) return s;
  }
  return CheckAfter(spec.after);
}

}  // namespace glim::core
