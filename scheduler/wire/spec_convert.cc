#include "scheduler/wire/spec_convert.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::wire {
namespace {

// An empty text leaves the default alone.
template <core::HasWords E>
Status ParseWord(const char* field, const std::string& text, E* out) {
  if (text.empty()) return Status::Ok();
  if (const auto known = core::FromWord<E>(text)) {
    *out = *known;
    return Status::Ok();
  }
  std::string all;
  std::vector<std::string_view> known;
  for (const auto& [value, word] : core::kEnumWords<E>) {
    all += (all.empty() ? "" : ", ") + std::string(word);
    known.push_back(word);
  }
  const std::string near = Nearest(text, known);
  return InvalidArgument(field, "'" + EscapedStart(text, 64) + "' is none of: " + all,
                         near.empty() ? "use one of them" : "did you mean '" + near + "'?");
}

Status PlacementFromProto(const v1::Placement& proto, core::Placement* out) {
  out->zones.assign(proto.zones().begin(), proto.zones().end());
  if (Status s = ParseWord("placement.leaf", proto.leaf(), &out->leaf); !s.ok()) return s;
  if (Status s = ParseWord("placement.cross_zone", proto.cross_zone(), &out->cross_zone); !s.ok()) return s;
  out->gpu_type = proto.gpu_type();
  out->nic = proto.nic();
  out->node = proto.node();
  return ParseWord("placement.nvlink", proto.nvlink(), &out->nvlink);
}

Status InterruptFromProto(const v1::InterruptPolicy& proto, core::JobSpec* out) {
  if (proto.has_grace_ms()) out->grace = Milliseconds(proto.grace_ms());
  out->max_grace = std::max(out->max_grace, out->grace);
  if (proto.has_max_grace_ms()) out->max_grace = Milliseconds(proto.max_grace_ms());
  if (!proto.signal().empty()) out->interrupt_signal = proto.signal();
  if (Status s = ParseWord("interrupt.to", proto.to(), &out->interrupt_to); !s.ok()) return s;
  return ParseWord("interrupt.mode", proto.mode(), &out->interrupt_mode);
}

}  // namespace

Result<core::JobSpec> SpecFromProto(const v1::JobSpec& proto) {
  core::JobSpec spec;
  spec.name = proto.name();
  spec.pool = proto.pool();  // empty: its team's (account_access.h)
  if (!proto.priority().empty()) {
    auto priority = core::ParsePriority(proto.priority());
    if (!priority.ok()) return priority.status();
    spec.priority = *priority;
  }
  spec.nodes = proto.nodes();
  spec.gpus_per_node = proto.gpus_per_node();
  if (Status s = PlacementFromProto(proto.placement(), &spec.placement); !s.ok()) return s;
  if (!proto.image().empty()) spec.image = proto.image();
  spec.workdir = proto.workdir();
  spec.run = proto.run();
  if (!v1::Launcher_IsValid(proto.launcher())) {
    return InvalidArgument("launcher", std::to_string(proto.launcher()) + " is not known", "use node or per-gpu");
  }
  spec.launcher = proto.launcher() == v1::LAUNCHER_PER_GPU ? core::Launcher::kPerGpu : core::Launcher::kNode;
  for (const auto& var : proto.env()) spec.env.emplace_back(var.name(), var.value());
  if (Status s = InterruptFromProto(proto.interrupt(), &spec); !s.ok()) return s;
  spec.checkpoint_dir = proto.checkpoint().dir();
  spec.checkpoint_every = Milliseconds(proto.checkpoint().every_ms());
  if (proto.checkpoint().keep() != 0) spec.checkpoint_keep = proto.checkpoint().keep();
  if (Status s = ParseWord("checkpoint.if_unreachable", proto.checkpoint().if_unreachable(), &spec.if_unreachable);
      !s.ok()) {
    return s;
  }
  spec.snapshot = {proto.snapshot().path(), proto.snapshot().sha256(), proto.snapshot().revision(),
                   proto.snapshot().bytes()};
  if (proto.has_restart()) {  // here 0 and an empty list mean what they say: never
    spec.restart_on.assign(proto.restart().on().begin(), proto.restart().on().end());
    spec.restart_max = proto.restart().max();
    spec.restart_backoff = Milliseconds(proto.restart().backoff_ms());
  }
  for (const auto& mount : proto.mounts()) spec.mounts.push_back({mount.source(), mount.target(), mount.read_only()});
  const v1::TaskLimits& limits = proto.limits();
  spec.limits = {limits.memory_bytes(), limits.cpu_millis(), limits.pids(), limits.shm_bytes()};
  spec.time_limit = Milliseconds(proto.time_limit_ms());
  spec.no_progress = Milliseconds(proto.no_progress_ms());
  spec.start_after = TimePoint{proto.start_after_ms()};
  spec.team = proto.team();
  for (const auto& secret : proto.secrets()) spec.secrets.push_back({secret.name(), secret.env()});
  spec.api = proto.api();
  spec.notify.on.assign(proto.notify().on().begin(), proto.notify().on().end());
  spec.notify.to.assign(proto.notify().to().begin(), proto.notify().to().end());
  for (int i = 0; i < proto.after_size(); ++i) {
    core::Dependency& dependency = spec.after.emplace_back();
    dependency.job = core::JobId(proto.after(i).job_id());
    const std::string field = "after[" + std::to_string(i) + "]";
    dependency.keep = proto.after(i).keep();
    Status s = ParseWord(field.c_str(), proto.after(i).when(), &dependency.when);
    if (!s.ok()) return s;
  }
  return spec;
}

void SpecToProto(const core::JobSpec& spec, v1::JobSpec* proto) {
  proto->set_name(spec.name);
  proto->set_pool(spec.pool);
  proto->set_priority(core::ToString(spec.priority));
  proto->set_nodes(spec.nodes);
  proto->set_gpus_per_node(spec.gpus_per_node);
  auto* placement = proto->mutable_placement();
  for (const auto& zone : spec.placement.zones) placement->add_zones(zone);
  placement->set_leaf(core::WordOf(spec.placement.leaf));
  placement->set_cross_zone(core::WordOf(spec.placement.cross_zone));
  placement->set_gpu_type(spec.placement.gpu_type);
  if (spec.placement.nvlink != core::NvLink::kNone) placement->set_nvlink(core::ToString(spec.placement.nvlink));
  placement->set_nic(spec.placement.nic);
  placement->set_node(spec.placement.node);
  proto->set_image(spec.image);
  proto->set_workdir(spec.workdir);
  proto->set_run(spec.run);
  proto->set_launcher(spec.launcher == core::Launcher::kPerGpu ? v1::LAUNCHER_PER_GPU : v1::LAUNCHER_NODE);
  for (const auto& [name, value] : spec.env) {
    auto* var = proto->add_env();
    var->set_name(name);
    var->set_value(value);
  }
  auto* interrupt = proto->mutable_interrupt();
  interrupt->set_mode(core::WordOf(spec.interrupt_mode));
  interrupt->set_grace_ms(spec.grace.ms);
  interrupt->set_max_grace_ms(spec.max_grace.ms);
  interrupt->set_signal(spec.interrupt_signal);
  interrupt->set_to(core::WordOf(spec.interrupt_to));
  proto->mutable_checkpoint()->set_dir(spec.checkpoint_dir);
  proto->mutable_checkpoint()->set_every_ms(spec.checkpoint_every.ms);
  proto->mutable_checkpoint()->set_keep(spec.checkpoint_keep);
  proto->mutable_checkpoint()->set_if_unreachable(core::ToString(spec.if_unreachable));
  if (spec.snapshot != core::CodeSnapshot{}) {
    v1::Snapshot& snapshot = *proto->mutable_snapshot();
    snapshot.set_path(spec.snapshot.path);
    snapshot.set_sha256(spec.snapshot.sha256);
    snapshot.set_revision(spec.snapshot.revision);
    snapshot.set_bytes(spec.snapshot.bytes);
  }
  auto* restart = proto->mutable_restart();
  for (const auto& reason : spec.restart_on) restart->add_on(reason);
  restart->set_max(spec.restart_max);
  restart->set_backoff_ms(spec.restart_backoff.ms);
  MountsToProto(spec, proto->mutable_mounts());
  if (spec.limits != core::TaskLimits{}) LimitsToProto(spec.limits, proto->mutable_limits());
  proto->set_time_limit_ms(spec.time_limit.ms);
  proto->set_no_progress_ms(spec.no_progress.ms);
  proto->set_start_after_ms(spec.start_after.ms);
  proto->set_team(spec.team);
  for (const core::SecretUse& use : spec.secrets) {
    auto* secret = proto->add_secrets();
    secret->set_name(use.name);
    secret->set_env(use.env);
  }
  proto->set_api(spec.api);
  for (const std::string& on : spec.notify.on) proto->mutable_notify()->add_on(on);
  for (const std::string& to : spec.notify.to) proto->mutable_notify()->add_to(to);
  for (const core::Dependency& dependency : spec.after) {
    auto* added = proto->add_after();
    added->set_job_id(dependency.job.value);
    added->set_when(core::ToString(dependency.when));
    added->set_keep(dependency.keep);
  }
}

void MountsToProto(const core::JobSpec& spec, google::protobuf::RepeatedPtrField<v1::Mount>* mounts) {
  for (const core::Mount& mount : spec.mounts) {
    v1::Mount* added = mounts->Add();
    added->set_source(mount.source);
    added->set_target(mount.target);
    added->set_read_only(mount.read_only);
  }
}

void LimitsToProto(const core::TaskLimits& limits, v1::TaskLimits* proto) {
  proto->set_memory_bytes(limits.memory_bytes);
  proto->set_cpu_millis(limits.cpu_millis);
  proto->set_pids(limits.pids);
  proto->set_shm_bytes(limits.shm_bytes);
}

}  // namespace glim::wire
