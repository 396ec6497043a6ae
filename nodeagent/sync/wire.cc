#include "nodeagent/sync/wire.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "sdk/base/cut_text.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kMessageBytesMax = 4000;
constexpr int kSignalMax = 31;
constexpr std::int64_t kDeadlineMsMax = std::int64_t{1} << 50;

Interrupt FromProto(const v1::InterruptOrder& order, TimePoint now) {
  Interrupt interrupt;
  interrupt.agreement = order.agreement();
  interrupt.reason = order.reason();
  interrupt.preemptor = order.preemptor();
  interrupt.deadline = now + Milliseconds(std::clamp<std::int64_t>(order.grace_left_ms(), 0, kDeadlineMsMax));
  interrupt.stop_step = std::max<std::int64_t>(-1, order.stop_step());
  interrupt.no_agreement = order.no_agreement();
  interrupt.withdrawn = order.withdrawn();
  interrupt.signal = order.signal();
  interrupt.signal_all = order.signal_all();
  return interrupt;
}

v1::ObservedTask::Phase ToProto(Phase phase) {
  switch (phase) {
    case Phase::kStarting: return v1::ObservedTask::STARTING;
    case Phase::kRunning: return v1::ObservedTask::RUNNING;
    case Phase::kExited: return v1::ObservedTask::EXITED;
    case Phase::kReleased: return v1::ObservedTask::RELEASED;
  }
  return v1::ObservedTask::STARTING;
}

void ToProto(const RankState& state, v1::ObservedRank* out) {
  out->set_greeted(state.greeted);
  out->set_step(state.step);
  out->set_step_ms(state.step_ms);
  out->set_acked_agreement(state.acked_agreement);
  out->set_hold(state.hold);
  out->set_finished(state.finished);
  for (const SavedMessage& save : state.saves) {
    v1::Save* proto = out->add_saves();
    proto->set_step(save.step);
    proto->set_path(save.path);
    proto->set_bytes(save.bytes);
    proto->set_shard(save.shard);
    proto->set_shards(save.shards);
    proto->set_duration_ms(save.duration_ms);
  }
  out->set_leaving(state.leaving);
  out->set_extend_ms(state.extend_agreement == state.acked_agreement ? state.extend_ms : 0);
  out->set_yielded(state.yielded);
  out->set_restored_step(state.restored_step);
  out->set_restore_ms(state.restore_ms);
  out->set_restore_failed(state.restore_failed);
  if (const SaveFailure& failure = state.save_failure; failure.count > 0) {
    v1::SaveFailure* proto = out->mutable_save_failure();
    proto->set_step(failure.step);
    proto->set_why(failure.why);
    proto->set_count(failure.count);
  }
}

}  // namespace

TaskKey KeyOf(const v1::AttemptRef& attempt, std::uint32_t index) {
  return {attempt.job_id(), attempt.number(), index};
}

Desired FromProto(const v1::DesiredState& set, TimePoint now, bool confirmed) {
  Desired desired;
  desired.revision = {set.epoch(), set.revision()};
  desired.confirmed = confirmed;
  for (const v1::DesiredTask& task : set.tasks()) {
    DesiredTask& out = desired.tasks.emplace_back();
    out.key = KeyOf(task.attempt(), task.index());
    out.launch = task.has_launch();
    if (task.has_interrupt()) out.interrupt = FromProto(task.interrupt(), now);
    if (task.has_stop()) out.stop = Stop{task.stop().reason(), std::min(task.stop().term_ms(), kDeadlineMsMax)};
  }
  return desired;
}

LaunchOrders TakeLaunches(v1::DesiredState* set) {
  LaunchOrders orders;
  for (v1::DesiredTask& task : *set->mutable_tasks()) {
    if (task.has_launch()) orders[KeyOf(task.attempt(), task.index())] = std::move(*task.mutable_launch());
  }
  return orders;
}

void ToProto(const TaskKey& key, const Inspection& inspection, const std::vector<RankState>* ranks,
             const std::function<bool(std::uint32_t rank)>& connected, v1::ObservedTask* out) {
  out->mutable_attempt()->set_job_id(key.job);
  out->mutable_attempt()->set_number(key.attempt);
  out->set_index(key.index);
  out->set_phase(ToProto(inspection.phase));
  out->set_exit_code(inspection.exit_code);
  out->set_message(CutText(inspection.message, kMessageBytesMax));
  for (const pid_t pid : inspection.pids) out->add_pids(pid);
  out->set_lost(inspection.lost);
  out->set_out_of_memory(inspection.out_of_memory);
  out->set_start_failed(inspection.start_failed);
  out->set_job_fault(inspection.fault == StartFault::kJob);
  out->set_path_missing(inspection.fault == StartFault::kPathMissing);
  out->set_disk_fault(inspection.fault == StartFault::kDisk);
  out->set_hung_path(inspection.hung_path);
  out->set_first_output_ms(inspection.first_output_ms);
  if (!ranks) return;
  for (const RankState& state : *ranks) {
    v1::ObservedRank* rank = out->add_ranks();
    rank->set_rank(state.rank);
    rank->set_connected(connected(state.rank));
    ToProto(state, rank);
    const auto exit = std::find_if(inspection.ranks.begin(), inspection.ranks.end(),
                                   [&](const RankStatus& r) { return r.rank == state.rank; });
    if (exit == inspection.ranks.end()) continue;
    rank->set_exited(exit->exited);
    rank->set_exit_code(exit->exit_code);
    rank->set_exited_at_ms(exit->exited_at_ms);
    if (const auto cause = inspection.causes.find(state.rank); cause != inspection.causes.end()) {
      rank->set_cause(cause->second);
    }
  }
}

std::optional<int> SignalNumber(const std::string& name) {
  const std::string bare = name.starts_with("SIG") ? name.substr(3) : name;
  for (int signal = 1; signal <= kSignalMax; ++signal) {
    const char* abbreviation = ::sigabbrev_np(signal);
    if ((abbreviation && bare == abbreviation) || name == std::to_string(signal)) return signal;
  }
  return std::nullopt;
}

}  // namespace glim::nodeagent
