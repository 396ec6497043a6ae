#include "scheduler/core/model/validate_spec.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/core/model/allowed_paths.h"
#include "scheduler/core/model/image_name.h"
#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/printable.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/base/suggest.h"
#include "sdk/base/utf8.h"
#include "sdk/task_environment/variables.h"

namespace glim::core {
namespace {

constexpr std::size_t kShownMax = 64;  // characters of a spec's word in a refusal

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string Quoted(std::string_view text) { return "'" + EscapedStart(text, kShownMax) + "'"; }
std::string At(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

// At most `most` of them.
Status CheckCount(const char* field, std::size_t count, std::size_t most, const char* what) {
  if (count <= most) return Status::Ok();
  return InvalidArgument(field, std::to_string(count) + " " + what + " are too many",
                         "use at most " + std::to_string(most));
}

Status CheckOneOf(const std::string& field, const std::string& value, std::span<const std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return Status::Ok();
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  const std::string near = Nearest(value, words);
  return InvalidArgument(field, Quoted(value) + " is none of: " + all,
                         near.empty() ? "use one of them" : "did you mean '" + near + "'?");
}

// A name becomes part of paths and of command lines.
Status CheckWord(const std::string& field, const std::string& text) {
  if (text.empty()) {
    return InvalidArgument(field, "is empty", "give it 1 to 128 letters, digits, '.', '_' or '-'");
  }
  if (text.size() > kSpecNameBytesMax) {
    return InvalidArgument(field, std::to_string(text.size()) + " characters are too many",
                           "use at most " + std::to_string(kSpecNameBytesMax));
  }
  if (!std::all_of(text.begin(), text.end(), IsWordChar)) {
    return InvalidArgument(field, Quoted(text) + " has other characters than letters, digits, '.', '_' and '-'",
                           "use only these");
  }
  if (text.front() == '.' || text.front() == '-') {
    return InvalidArgument(field, Quoted(text) + " starts with '" + text.front() + "'",
                           "start with a letter, a digit or '_'");
  }
  return Status::Ok();
}

Status CheckOptionalWord(const char* field, const std::string& text) {
  return text.empty() ? Status::Ok() : CheckWord(field, text);
}

Status CheckText(const std::string& field, const std::string& text, std::size_t bytes_max, bool allow_lines) {
  if (text.size() > bytes_max) {
    return InvalidArgument(field, std::to_string(text.size()) + " bytes are too many",
                           "use at most " + std::to_string(bytes_max));
  }
  if (!IsUtf8(text)) return InvalidArgument(field, "is not UTF-8", "save it as UTF-8");
  const std::size_t at = FirstControl(text, allow_lines);
  if (at == std::string_view::npos) return Status::Ok();
  const std::string_view rest = std::string_view(text).substr(at);
  const std::string shown = Escaped(rest.substr(0, DecodeUtf8(rest).size));
  return InvalidArgument(field, "control character " + shown + " at byte " + std::to_string(at), "remove it");
}

// 0 of an optional amount is "not said".
Status CheckSaid(std::string_view field, std::int64_t value) {
  return value == 0 ? Status::Ok() : CheckAmount(field, value);
}

Status CheckEnvName(const std::string& field, const std::string& name) {
  const bool word = !name.empty() && name.size() <= kSpecNameBytesMax && !(name[0] >= '0' && name[0] <= '9') &&
                    std::all_of(name.begin(), name.end(), [](char c) { return IsWordChar(c) && c != '.' && c != '-'; });
  if (!word) {
    return InvalidArgument(field, Quoted(name) + " is no name of a variable",
                           "use letters, digits and '_', not starting with a digit");
  }
  if (!IsReservedVariable(name)) return Status::Ok();
  return InvalidArgument(field, Quoted(name) + " is set by Glim itself", "choose another name");
}

// Every node of the job gets all of it in one message, and the kernel in one call.
Status CheckEnvAndRun(const JobSpec& spec) {
  std::size_t bytes = spec.run.size();
  for (const auto& [name, value] : spec.env) bytes += name.size() + value.size();
  if (bytes <= kSpecEnvAndRunBytesMax) return Status::Ok();
  return InvalidArgument("env", "env and run are " + std::to_string(bytes) + " bytes in all, which is too many",
                         "use at most " + std::to_string(kSpecEnvAndRunBytesMax) + "; put long values into a file");
}

Status CheckEnv(const JobSpec& spec) {
  if (Status s = CheckCount("env", spec.env.size(), kSpecEnvMax, "variables"); !s.ok()) return s;
  std::set<std::string> seen;
  for (const auto& [name, value] : spec.env) {
    if (Status s = CheckEnvName("env." + EscapedStart(name, kShownMax), name); !s.ok()) return s;
    if (!seen.insert(name).second) return InvalidArgument("env." + name, "is given twice", "keep one");
    if (Status s = CheckText("env." + name, value, kSpecTextBytesMax, true); !s.ok()) return s;
  }
  return CheckEnvAndRun(spec);
}

Status CheckInterrupt(const JobSpec& spec) {
  if (Status s = CheckAmount("interrupt.grace", spec.grace.ms); !s.ok()) return s;
  if (Status s = CheckAmount("interrupt.max_grace", spec.max_grace.ms); !s.ok()) return s;
  if (spec.max_grace < spec.grace) {
    return InvalidArgument("interrupt.max_grace", "is shorter than interrupt.grace", "make it at least as long");
  }
  return CheckOneOf("interrupt.signal", spec.interrupt_signal, kSpecSignals);
}

Status CheckRestart(const JobSpec& spec) {
  if (Status s = CheckCount("restart.on", spec.restart_on.size(), std::size(kSpecRestartCauses), "causes"); !s.ok()) {
    return s;
  }
  for (std::size_t i = 0; i < spec.restart_on.size(); ++i) {
    if (Status s = CheckOneOf(At("restart.on", i), spec.restart_on[i], kSpecRestartCauses); !s.ok()) return s;
  }
  if (Status s = CheckAmount("restart.max", spec.restart_max); !s.ok()) return s;
  return CheckAmount("restart.backoff", spec.restart_backoff.ms);
}

Status CheckPlacement(const JobSpec& spec) {
  const Placement& placement = spec.placement;
  if (Status s = CheckCount("placement.zones", placement.zones.size(), kSpecZonesMax, "zones"); !s.ok()) return s;
  for (std::size_t i = 0; i < placement.zones.size(); ++i) {
    if (Status s = CheckWord(At("placement.zones", i), placement.zones[i]); !s.ok()) return s;
  }
  if (Status s = CheckOptionalWord("placement.gpu_type", placement.gpu_type); !s.ok()) return s;
  if (Status s = CheckOptionalWord("placement.node", placement.node); !s.ok()) return s;
  if (!placement.node.empty() && spec.nodes != 1) {
    return InvalidArgument("placement.node", "names one node, and the job asks for " + std::to_string(spec.nodes),
                           "say nodes: 1, or leave placement.node out");
  }
  return placement.nic.empty() ? Status::Ok() : CheckOneOf("placement.nic", placement.nic, kSpecNics);
}

Status CheckPath(const std::string& field, const std::string& path) {
  if (Status s = CheckText(field, path, kSpecPathBytesMax, false); !s.ok()) return s;
  if (IsPlainAbsolutePath(path)) return Status::Ok();
  return InvalidArgument(field, Quoted(path) + " is not a plain absolute path", "write it like /data/set");
}

// $GLIM_JOB_ID, ${GLIM_JOB_ID} and the same of GLIM_JOB_NAME are replaced at the start, nothing else is.
Status CheckCheckpointDir(const std::string& dir) {
  if (Status s = CheckPath("checkpoint.dir", dir); !s.ok()) return s;
  for (std::size_t at = dir.find('$'); at != std::string::npos; at = dir.find('$', at + 1)) {
    const bool braced = dir.compare(at + 1, 1, "{") == 0;
    std::size_t end = at + (braced ? 2 : 1);
    while (end < dir.size() && (std::isalnum(static_cast<unsigned char>(dir[end])) != 0 || dir[end] == '_')) ++end;
    const std::string name = dir.substr(at + (braced ? 2 : 1), end - at - (braced ? 2 : 1));
    const bool closed = !braced || dir.compare(end, 1, "}") == 0;
    if (closed && (name == "GLIM_JOB_ID" || name == "GLIM_JOB_NAME")) continue;
    return InvalidArgument("checkpoint.dir", Quoted(dir.substr(at, end - at)) + " is not expanded here",
                           "only $GLIM_JOB_ID and $GLIM_JOB_NAME are");
  }
  return Status::Ok();
}

Status CheckCommand(const JobSpec& spec) {
  if (const Result<ImageName> image = ParseImageName(spec.image); !image.ok()) return image.status();
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  if (std::all_of(spec.run.begin(), spec.run.end(), blank)) {
    return InvalidArgument("run", "is empty", "write the shell command line to run on every node");
  }
  if (Status s = CheckText("run", spec.run, kSpecTextBytesMax, true); !s.ok()) return s;
  if (spec.workdir != "/") {
    if (Status s = CheckPath("workdir", spec.workdir); !s.ok()) return s;
  }
  return spec.checkpoint_dir.empty() ? Status::Ok() : CheckCheckpointDir(spec.checkpoint_dir);
}

Status CheckMounts(const std::vector<Mount>& mounts) {
  if (Status s = CheckCount("mounts", mounts.size(), kSpecMountsMax, "mounts"); !s.ok()) return s;
  std::set<std::string> targets;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string field = At("mounts", i);
    if (Status s = CheckPath(field + ".source", mounts[i].source); !s.ok()) return s;
    if (Status s = CheckPath(field + ".target", mounts[i].target); !s.ok()) return s;
    if (IsOfTheImage(mounts[i].target)) {
      return InvalidArgument(field + ".target", mounts[i].target + " belongs to the image",
                             "mount it elsewhere, for example at /data");
    }
    if (!targets.insert(mounts[i].target).second) {
      return InvalidArgument(field + ".target", Quoted(mounts[i].target) + " is the target of another mount",
                             "keep one of them");
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
  const std::optional<SnapshotParts> parts = ParseSnapshotPath(snapshot.path);
  if (!parts || parts->sha256 != snapshot.sha256) {
    return InvalidArgument("snapshot.path", "is no archive of that hash",
                           "lay it at CHECKPOINT_ROOT/snapshots/UID/SHA256.tar.zst, as glim submit --snapshot does");
  }
  const std::string& revision = snapshot.revision;
  if (revision.size() > kSpecNameBytesMax || !std::all_of(revision.begin(), revision.end(), IsWordChar)) {
    return InvalidArgument("snapshot.revision", "is no revision", "give git's, or nothing");
  }
  if (IsOfTheImage(spec.workdir) || spec.workdir == "/") {
    return InvalidArgument("workdir", spec.workdir + " belongs to the image: a snapshot cannot stand there",
                           "submit from another folder, or leave out 'code: snapshot'");
  }
  return CheckAmount("snapshot.bytes", snapshot.bytes);
}

Status CheckLimits(const JobSpec& spec) {
  if (Status s = CheckSaid("limits.memory", spec.limits.memory_bytes); !s.ok()) return s;
  if (Status s = CheckSaid("limits.cpus", spec.limits.cpu_millis); !s.ok()) return s;
  if (Status s = CheckSaid("limits.pids", spec.limits.pids); !s.ok()) return s;
  if (Status s = CheckSaid("limits.shm", spec.limits.shm_bytes); !s.ok()) return s;
  if (spec.start_after.ms < 0 || spec.start_after.ms > kSpecStartAfterMost.ms) {
    return InvalidArgument("start_after", "is before 1970 or after 9999", "name a moment between");
  }
  return CheckSaid("limits.time", spec.time_limit.ms);
}

Status CheckAfter(const std::vector<Dependency>& after) {
  if (Status s = CheckCount("after", after.size(), kSpecAfterMax, "jobs"); !s.ok()) return s;
  std::set<JobId> jobs;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::string field = At("after", i);
    if (!after[i].job) return InvalidArgument(field, "names no job", "write the job's number, as in 812:ok");
    if (!jobs.insert(after[i].job).second) {
      return InvalidArgument(field, "job " + std::to_string(after[i].job.value) + " stands here twice",
                             "keep one of them");
    }
  }
  return Status::Ok();
}

Status CheckSecrets(const JobSpec& spec) {
  if (Status s = CheckCount("secrets", spec.secrets.size(), kSpecSecretsMax, "secrets"); !s.ok()) return s;
  std::set<std::string> names, variables;
  for (const auto& [name, value] : spec.env) variables.insert(name);
  for (std::size_t i = 0; i < spec.secrets.size(); ++i) {
    const SecretUse& use = spec.secrets[i];
    const std::string field = At("secrets", i);
    if (Status s = CheckSecretName(field, use.name); !s.ok()) return s;
    if (!names.insert(use.name).second) {
      return InvalidArgument(field, Quoted(use.name) + " stands here twice", "keep one of them");
    }
    if (use.env.empty()) continue;
    if (Status s = CheckEnvName(field + ".env", use.env); !s.ok()) return s;
    if (!variables.insert(use.env).second) {
      return InvalidArgument(field + ".env", Quoted(use.env) + " is given twice", "choose another name");
    }
  }
  return Status::Ok();
}

Status CheckNotifyNames(const NotifySpec& notify) {
  if (Status s = CheckCount("notify.on", notify.on.size(), std::size(kNotifyOn), "words"); !s.ok()) return s;
  if (Status s = CheckCount("notify.to", notify.to.size(), kSpecNotifyMax, "names"); !s.ok()) return s;
  if (notify.on.empty() != notify.to.empty()) {
    return InvalidArgument(notify.on.empty() ? "notify.on" : "notify.to", "is empty",
                           "say when and whom: {on: [failed, done], to: [team-chat]}");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < notify.on.size(); ++i) {
    const std::string field = At("notify.on", i);
    if (std::count(std::begin(kNotifyOn), std::end(kNotifyOn), notify.on[i]) == 0) {
      return InvalidArgument(field, Quoted(notify.on[i]) + " is none of: interrupted, failed, done", "use one of them");
    }
    if (!seen.insert(notify.on[i]).second) {
      return InvalidArgument(field, Quoted(notify.on[i]) + " stands here twice", "keep one of them");
    }
  }
  seen.clear();
  for (std::size_t i = 0; i < notify.to.size(); ++i) {
    const std::string field = At("notify.to", i);
    if (Status s = CheckWord(field, notify.to[i]); !s.ok()) return s;
    if (!seen.insert(notify.to[i]).second) {
      return InvalidArgument(field, Quoted(notify.to[i]) + " stands here twice", "keep one of them");
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckSecretName(const std::string& field, const std::string& name) {
  if (name.size() > kSecretNameBytesMax) {
    return InvalidArgument(field, std::to_string(name.size()) + " characters are too many",
                           "use at most " + std::to_string(kSecretNameBytesMax));
  }
  return CheckWord(field, name);
}

Status ValidateSpec(const JobSpec& spec) {
  if (Status s = CheckWord("name", spec.name); !s.ok()) return s;
  if (!spec.pool.empty()) {  // empty: its team's
    if (Status s = CheckWord("pool", spec.pool); !s.ok()) return s;
  }
  if (Status s = CheckOptionalWord("team", spec.team); !s.ok()) return s;
  if (Status s = CheckAmount("nodes", spec.nodes); !s.ok()) return s;
  if (Status s = CheckAmount("gpus_per_node", spec.gpus_per_node); !s.ok()) return s;
  if (spec.launcher == Launcher::kPerGpu && spec.gpus_per_node == 0) {
    return InvalidArgument("gpus_per_node", "0, but launcher per-gpu starts one process for each GPU",
                           "use at least 1, or launcher node");
  }
  if (Status s = CheckPlacement(spec); !s.ok()) return s;
  if (Status s = CheckCommand(spec); !s.ok()) return s;
  if (Status s = CheckEnv(spec); !s.ok()) return s;
  if (Status s = CheckInterrupt(spec); !s.ok()) return s;
  if (Status s = CheckSaid("checkpoint.every", spec.checkpoint_every.ms); !s.ok()) return s;
  if (Status s = CheckAmount("checkpoint.keep", spec.checkpoint_keep); !s.ok()) return s;
  if (Status s = CheckRestart(spec); !s.ok()) return s;
  if (Status s = CheckSaid("watchdog.no_progress", spec.no_progress.ms); !s.ok()) return s;
  if (Status s = CheckMounts(spec.mounts); !s.ok()) return s;
  if (Status s = CheckSnapshot(spec); !s.ok()) return s;
  if (Status s = CheckLimits(spec); !s.ok()) return s;
  if (Status s = CheckSecrets(spec); !s.ok()) return s;
  if (Status s = CheckNotifyNames(spec.notify); !s.ok()) return s;
  return CheckAfter(spec.after);
}

}  // namespace glim::core
