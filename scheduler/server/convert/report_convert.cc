#include "scheduler/server/convert/report_convert.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/health_convert.h"
#include "sdk/base/cut_text.h"
#include "sdk/base/hex.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

constexpr int kTasksMax = 256;  // one runs; the rest are leftovers
constexpr int kRanksMax = 256;
constexpr int kSavesMax = 64;
constexpr int kPidsMax = 1024;
constexpr std::uint32_t kLeftBehindMax = 1024;
constexpr int kFoldersMax = 64;
constexpr std::size_t kSocketsMax = 32;
constexpr std::size_t kSocketBytesMax = 108;  // of sockaddr_un
constexpr std::size_t kMessageMax = 4096;
constexpr std::size_t kCauseMax = 512;
constexpr std::size_t kEvidenceMax = 64 * 1024;
constexpr std::size_t kMarkerMax = 128;
constexpr std::size_t kPathMax = 4096;
constexpr std::size_t kHostPortMax = 259;
constexpr std::size_t kReplicaKeyBytes = 32;  // Ed25519
constexpr std::uint32_t kGpusMax = 64;
constexpr std::uint32_t kShardsMax = 1'000'000;
constexpr std::int64_t kDayMs = 24 * 3'600'000LL;
constexpr std::int64_t kStepMax = std::int64_t{1} << 53;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;  // times a thousand, as rates are reckoned, it fits

Status Refuse(std::string field, const std::string& message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, field + ": " + message)
      .WithReason("BAD_AGENT_MESSAGE")
      .WithField(std::move(field))
      .WithFix(std::move(fix));
}

bool IsNodeNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; }
bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-'; }
bool IsHostPortChar(char c) { return IsWordChar(c) || c == ':' || c == '[' || c == ']' || c == '%'; }
bool IsPrintable(char c) { return c > 0x20 && c < 0x7f; }

template <typename Allowed>
Status CheckField(const char* field, const std::string& text, std::size_t least, std::size_t most, Allowed allowed,
                  const char* characters) {
  const bool fits = text.size() >= least && text.size() <= most;
  if (fits && std::all_of(text.begin(), text.end(), allowed)) return Status::Ok();
  return Refuse(field, "is not what it should be",
                "send " + std::to_string(least) + " to " + std::to_string(most) + " characters of " + characters);
}

// "attempt-1/step-00000007": it stays below the folder that it is taken from.
bool IsLocalPath(const std::string& path) {
  if (path.empty()) return true;
  if (path.size() > kPathMax || path.find('\0') != std::string::npos) return false;
  const std::string framed = "/" + path + "/";
  return framed.find("//") == std::string::npos && framed.find("/./") == std::string::npos &&
         framed.find("/../") == std::string::npos;
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

Status CheckFolders(const v1::Hello& hello) {
  if (hello.allowed_folders_size() > kFoldersMax) return Refuse("allowed_folders", "are too many", "send at most 64");
  for (const std::string& folder : hello.allowed_folders()) {
    if (folder.empty() || folder[0] != '/' || folder.size() > kPathMax || folder.find('\0') != std::string::npos) {
      return Refuse("allowed_folders", "holds what is no absolute path");
    }
  }
  return Status::Ok();
}

// Tasks get these in lists with commas between them.
Status CheckHostPort(const char* field, const std::string& address) {
  if (address.empty()) return Status::Ok();
  const std::size_t colon = address.rfind(':');
  const std::size_t digits = colon == std::string::npos ? 0 : address.size() - colon - 1;
  const bool port = digits >= 1 && digits <= 5 &&
                    std::all_of(address.end() - static_cast<std::ptrdiff_t>(digits), address.end(),
                                [](char c) { return c >= '0' && c <= '9'; });
  if (!port || colon == 0) return Refuse(field, "is not host:port", "send host:port, or nothing");
  return CheckField(field, address, 1, kHostPortMax, IsHostPortChar, "A-Z a-z 0-9 . _ - : [ ] %");
}

// Agents of earlier releases hand on what a rank says of its shards, whatever that is.
bool IsAShard(const v1::Save& proto) {
  return proto.shards() >= 1 && proto.shards() <= kShardsMax && proto.shard() < proto.shards();
}

Result<core::SavedShard> SaveFromProto(const v1::Save& proto) {
  if (proto.step() < 0 || proto.step() > kStepMax) return Refuse("saves.step", "is out of range");
  if (proto.path().size() > kPathMax) return Refuse("saves.path", "is too long");
  if (proto.bytes() < 0 || proto.duration_ms() < 0) return Refuse("saves.bytes", "is negative");
  core::SavedShard save;
  save.step = proto.step();
  save.path = proto.path();
  save.bytes = std::min(proto.bytes(), kBytesMax);
  save.shard = proto.shard();
  save.shards = proto.shards();
  save.took = Milliseconds(proto.duration_ms());
  if (!IsLocalPath(proto.local())) return Refuse("saves.local", "is no path below a folder");
  save.local = proto.local();
  return save;
}

Result<core::SaveFailure> SaveFailureFromProto(const v1::SaveFailure& proto) {
  if (proto.step() < -1 || proto.step() > kStepMax) return Refuse("ranks.save_failure.step", "is out of range");
  return core::SaveFailure{.step = proto.step(), .why = CutText(proto.why(), kCauseMax), .count = proto.count()};
}

Result<core::Rank> RankFromProto(const v1::ObservedRank& proto) {
  if (proto.step() < -1 || proto.step() > kStepMax) return Refuse("ranks.step", "is out of range");
  if (proto.hold() < -1 || proto.hold() > kStepMax) return Refuse("ranks.hold", "is out of range");
  if (proto.restored_step() < -1 || proto.restored_step() > kStepMax) {
    return Refuse("ranks.restored_step", "is out of range");
  }
  if (proto.step_ms() < 0 || proto.extend_ms() < 0 || proto.restore_ms() < 0) {
    return Refuse("ranks", "a time is negative");
  }
  if (proto.saves_size() > kSavesMax) return Refuse("ranks.saves", "are too many");
  core::Rank rank;
  rank.rank = proto.rank();
  rank.connected = proto.connected();
  rank.step = proto.step();
  rank.step_time = Milliseconds(std::min(proto.step_ms(), kDayMs));
  rank.acked_agreement = proto.acked_agreement();
  rank.hold = proto.hold();
  rank.finished = proto.finished();
  for (const auto& save : proto.saves()) {
    if (!IsAShard(save)) continue;  // refused, it would end the agent's stream, and so take its node out
    auto shard = SaveFromProto(save);
    if (!shard.ok()) return shard.status();
    rank.saves.push_back(std::move(shard).value());
  }
  rank.leaving = proto.leaving();
  rank.extend = Milliseconds(std::min(proto.extend_ms(), kDayMs));
  rank.yielded = proto.yielded();
  rank.exited = proto.exited();
  rank.exit_code = proto.exit_code();
  rank.restored_step = proto.restored_step();
  rank.restore_time = Milliseconds(std::min(proto.restore_ms(), kDayMs));
  rank.exited_at = TimePoint{std::max<std::int64_t>(0, proto.exited_at_ms())};
  rank.cause = proto.cause().substr(0, kCauseMax);
  rank.restore_failed = proto.restore_failed().substr(0, kCauseMax);
  if (proto.has_save_failure()) {
    auto failure = SaveFailureFromProto(proto.save_failure());
    if (!failure.ok()) return failure.status();
    rank.save_failure = std::move(failure).value();
  }
  // An agent of an earlier version does not tell of the hello: whoever has said anything has said that first.
  rank.greeted = proto.greeted() || proto.connected() || rank.step >= 0 || rank.acked_agreement > 0 || rank.leaving ||
                 rank.finished || !rank.saves.empty() || !rank.restore_failed.empty();
  return rank;
}

Result<core::TaskPhase> PhaseFromProto(v1::ObservedTask::Phase phase) {
  switch (phase) {
    case v1::ObservedTask::STARTING: return core::TaskPhase::kStarting;
    case v1::ObservedTask::RUNNING: return core::TaskPhase::kRunning;
    case v1::ObservedTask::EXITED: return core::TaskPhase::kExited;
    case v1::ObservedTask::RELEASED: return core::TaskPhase::kReleased;
    default: return Refuse("tasks.phase", std::to_string(phase) + " is not known");
  }
}

Result<core::ObservedTask> TaskFromProto(const v1::ObservedTask& proto) {
  if (proto.attempt().job_id() == 0 || proto.attempt().number() == 0) return Refuse("tasks.attempt", "is missing");
  if (proto.ranks_size() > kRanksMax) return Refuse("tasks.ranks", "are too many");
  if (proto.pids_size() > kPidsMax) return Refuse("tasks.pids", "are too many");
  auto phase = PhaseFromProto(proto.phase());
  if (!phase.ok()) return phase.status();
  core::ObservedTask task;
  task.id = {{core::JobId(proto.attempt().job_id()), proto.attempt().number()}, proto.index()};
  task.phase = *phase;
  task.exit_code = proto.exit_code();
  task.message = proto.message().substr(0, kMessageMax);
  task.lost = proto.lost();
  task.start_failed = proto.start_failed();
  task.job_fault = proto.job_fault();
  task.path_missing = proto.path_missing();
  task.hung_path = proto.hung_path().substr(0, kCauseMax);
  task.disk_fault = proto.disk_fault();
  task.out_of_memory = proto.out_of_memory();
  task.left_behind = std::min(proto.left_behind(), kLeftBehindMax);
  task.left_names = CutText(proto.left_names(), kCauseMax);
  task.save_missing = proto.save_missing();
  task.copied_bytes = std::clamp<std::int64_t>(proto.copied_bytes(), 0, kBytesMax);
  task.image_bytes = std::clamp<std::int64_t>(proto.image_bytes(), 0, kBytesMax);
  task.copy_time = Milliseconds(std::clamp<std::int64_t>(proto.copy_ms(), 0, kDayMs));
  task.first_output = TimePoint{std::max<std::int64_t>(0, proto.first_output_ms())};
  std::set<std::uint32_t> seen;
  for (const auto& r : proto.ranks()) {
    auto rank = RankFromProto(r);
    if (!rank.ok()) return rank.status();
    if (!seen.insert(rank->rank).second) return Refuse("tasks.ranks", "names a rank twice");
    task.ranks.push_back(std::move(rank).value());
  }
  task.pids.assign(proto.pids().begin(), proto.pids().end());
  task.activity_at = TimePoint{std::max<std::int64_t>(0, proto.activity_at_ms())};
  task.gpu_busy_at = TimePoint{std::max<std::int64_t>(0, proto.gpu_busy_at_ms())};
  task.evidence_id = proto.evidence().id();
  task.evidence = CutText(proto.evidence().text(), kEvidenceMax);
  return task;
}

}  // namespace

Result<core::NodeLabels> LabelsFromProto(const v1::NodeLabels& proto) {
  core::NodeLabels labels;
  if (!proto.pool().empty()) labels.pool = proto.pool();
  labels.zone = proto.zone();
  labels.leaf = proto.leaf();
  labels.gpu_type = proto.gpu_type();
  labels.gpu_count = proto.gpu_count();
  labels.nic = proto.nic();
  labels.simulated_gpus = proto.simulated_gpus();
  const std::pair<const char*, const std::string*> words[] = {{"labels.pool", &labels.pool},
                                                              {"labels.zone", &labels.zone},
                                                              {"labels.leaf", &labels.leaf},
                                                              {"labels.gpu_type", &labels.gpu_type},
                                                              {"labels.nic", &labels.nic}};
  for (const auto& [field, text] : words) {
    if (Status s = CheckField(field, *text, 0, 63, IsWordChar, "A-Z a-z 0-9 . _ -"); !s.ok()) return s;
  }
  if (labels.gpu_count > kGpusMax) {
    return Refuse("labels.gpu_count", std::to_string(labels.gpu_count) + " is too many", "send at most 64");
  }
  const auto nvlink = core::FromWord<core::NvLink>(proto.nvlink());
  if (!nvlink && !proto.nvlink().empty()) return Refuse("labels.nvlink", "is not known", "send none, pair or full");
  labels.nvlink = nvlink.value_or(core::NvLink::kNone);
  return labels;
}

Result<core::NodeConnected> HelloToEvent(const v1::Hello& hello) {
  constexpr const char* kAnyPrintable = "printable ASCII";
  Status s = CheckField("node_name", hello.node_name(), 1, 63, IsNodeNameChar, "a-z 0-9 . -");
  if (s.ok()) s = CheckField("machine_id", hello.machine_id(), 1, 128, IsPrintable, kAnyPrintable);
  if (s.ok()) s = CheckField("boot_id", hello.boot_id(), 1, 128, IsPrintable, kAnyPrintable);
  if (s.ok()) s = CheckField("address", hello.address(), 1, 253, IsPrintable, kAnyPrintable);
  if (s.ok()) s = CheckField("agent_version", hello.agent_version(), 0, 64, IsPrintable, kAnyPrintable);
  if (s.ok()) s = CheckField("runtime", hello.runtime(), 0, 32, IsWordChar, "A-Z a-z 0-9 . _ -");
  if (s.ok()) s = CheckField("census", hello.census(), 0, 32, IsWordChar, "A-Z a-z 0-9 . _ -");
  if (s.ok()) s = CheckHostPort("replica_address", hello.replica_address());
  if (s.ok() && !hello.replica_key().empty() && hello.replica_key().size() != kReplicaKeyBytes) {
    s = Refuse("replica_key", "is no Ed25519 key", "send its 32 bytes, or none");
  }
  if (s.ok()) s = CheckHostPort("save_address", hello.save_address());
  if (s.ok()) s = CheckField("save_key", hello.save_key(), 0, 64, IsHexDigit, "0-9 a-f");
  if (s.ok()) s = CheckFolders(hello);
  if (!s.ok()) return s;
  auto labels = LabelsFromProto(hello.labels());
  if (!labels.ok()) return labels.status();
  core::NodeConnected event;
  event.name = hello.node_name();
  event.machine_id = hello.machine_id();
  event.boot_id = hello.boot_id();
  event.labels = std::move(labels).value();
  event.address = hello.address();
  for (const char* field : core::kLabelFields) {
    const auto& defaults = hello.defaults();
    if (std::find(defaults.begin(), defaults.end(), field) != defaults.end()) event.defaults.emplace_back(field);
  }
  event.agent_version = hello.agent_version();
  event.runtime = hello.runtime();
  event.census = hello.census();
  if (!hello.replica_key().empty() && !hello.replica_address().empty()) {
    event.replica = HexText(std::string_view(hello.replica_key())) + "@" + hello.replica_address();
  }
  event.save_address = hello.save_address();
  event.save_key = hello.save_key();
  event.allowed_folders.assign(hello.allowed_folders().begin(), hello.allowed_folders().end());
  if (hello.has_only_uid()) event.only_uid = hello.only_uid();
  event.needs_uid = hello.needs_uid();
  event.inventory = InventoryOf(hello);
  return event;
}

namespace {

std::vector<std::string> ExposedSocketsOf(const v1::NodeReport& report) {
  std::vector<std::string> sockets;
  for (const std::string& name : report.exposed_sockets()) {
    if (sockets.size() == kSocketsMax) break;
    if (!name.empty()) sockets.push_back(Escaped(std::string_view(name).substr(0, kSocketBytesMax)));
  }
  return sockets;
}

// "KIND: MESSAGE", one after another; empty: none.
std::string FaultInWords(const v1::NodeReport& report) {
  std::string words;
  for (const v1::NodeFault& fault : report.faults()) {
    words += (words.empty() ? "" : "; ") + fault.kind() + ": " + fault.message();
    if (words.size() > kMessageMax) break;
  }
  return words.substr(0, kMessageMax);
}

}  // namespace

namespace {

// No more than a node can have been asked for.
std::vector<core::ProbeResult> ProbesOf(const v1::NodeReport& report) {
  constexpr std::size_t kMost = core::kProbedMost * (core::kProbersMost + 1);
  constexpr std::size_t kNameMax = 253;
  std::vector<core::ProbeResult> results;
  for (const v1::ProbeResult& probe : report.probes()) {
    if (results.size() == kMost) break;
    if (probe.node().size() > kNameMax) continue;
    results.push_back({probe.node(), std::max(Duration{}, Duration{probe.unanswered_ms()})});
  }
  return results;
}

}  // namespace

void NodeToEvent(const v1::NodeReport& report, const core::Policy& policy, core::NodeReported* event) {
  event->fault = FaultInWords(report);
  event->site_fault = CutText(report.site_fault(), kMessageMax);
  event->exposed_sockets = ExposedSocketsOf(report);
  event->probes = ProbesOf(report);
  HealthToEvent(report, event);
  if (report.root().root() != policy.checkpoint_root) return;
  event->root_marker = report.root().marker().substr(0, kMarkerMax);
  event->root_error = report.root().error().substr(0, kCauseMax);
}

Result<std::vector<core::ObservedTask>> ReportToTasks(const v1::NodeReport& report) {
  if (report.tasks_size() > kTasksMax) return Refuse("tasks", "are too many", "send at most 256");
  std::vector<core::ObservedTask> tasks;
  tasks.reserve(static_cast<std::size_t>(report.tasks_size()));
  std::set<core::TaskId> seen;
  for (const auto& t : report.tasks()) {
    auto task = TaskFromProto(t);
    if (!task.ok()) return task.status();
    if (!seen.insert(task->id).second) return Refuse("tasks", "names a task twice");
    tasks.push_back(std::move(task).value());
  }
  return tasks;
}

}  // namespace glim::server
