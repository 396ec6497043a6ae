// What the commits tell, counted.
#include "scheduler/sim/world/world.h"

namespace glim::sim {
namespace {

std::uint64_t Mix(std::uint64_t digest, std::uint64_t value) { return (digest ^ value) * 0x100000001b3ULL; }

}  // namespace

void World::CountWidened(const core::Attempt& ended) {
  const core::Job* job = state_->FindJob(ended.id.job);
  if (job && ended.started_at && job->spec->pool != kPool) {
    ++report_.other_pools;
    report_.pools_borrowed += ended.borrowed;
    report_.pools_crossed += ended.zones.size() == 2;
  }
  report_.start_timeouts += ended.stop == core::StopCause::kStartTimeout;
  report_.start_failures += ended.outcome == core::Outcome::kStartFailed;
}

void World::CountGrace(const core::HistoryEntry& request) {
  const core::Job* job = state_->FindJob(request.job);
  const core::Attempt* attempt = state_->FindAttempt({request.job, request.attempt});
  if (!job || !attempt) return;
  report_.long_graces += request.facts.grace * 10 >= policy_.grace_cap.For(attempt->charged) * 9;
  report_.clamped += request.facts.grace < job->spec->grace;
}

void World::CountTroubles() {
  report_.hung_starts = met_.hung_starts;
  report_.slow_starts = met_.slow_starts;
  report_.full_disk_starts = met_.full_disk_starts;
  report_.full_disk_saves = met_.full_disk_saves;
  report_.missing_paths = met_.missing_paths;
  report_.own_faults = met_.own_faults;
  report_.kept_tasks = met_.kept_tasks;
  report_.hung_paths = met_.hung_paths;
}

void World::CountEnd(const core::Mutation& mutation) {
  if (const auto* attempt = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation)) {
    const core::Attempt& row = **attempt;
    const bool is_first = row.id.number == 1 && row.state == core::AttemptState::kStarting;
    report_.dependants += is_first && !state_->FindJob(row.id.job)->spec->after.empty();
    report_.digest = Mix(report_.digest, row.id.job.value * 1000 + std::uint64_t{row.id.number} * 10 +
                                             static_cast<std::uint64_t>(row.state));
    for (const core::NodeId node : row.nodes) report_.digest = Mix(report_.digest, node.value);
    if (row.state != core::AttemptState::kEnded) return;
    report_.saved += row.save == core::SaveResult::kSaved;
    report_.left_unsaved += row.save == core::SaveResult::kLeftUnsaved;
    report_.killed += row.save == core::SaveResult::kKilled;
    report_.node_failures += row.outcome == core::Outcome::kNodeFailure;
    report_.gpu_failures += row.outcome == core::Outcome::kGpuFailure;
    report_.network_failures += row.outcome == core::Outcome::kNetwork;
    report_.hangs += row.outcome == core::Outcome::kHang;
    report_.yields +=
        row.outcome == core::Outcome::kInterrupted && row.stop == core::StopCause::kNone && row.agreements.empty();
    report_.timeouts += row.outcome == core::Outcome::kTimeout;
    CountWidened(row);
    SeeFailed(row);
  } else if (const auto* entry = std::get_if<core::HistoryEntry>(&mutation)) {
    SeeMeasured(*entry);
    report_.nodes_lost += entry->kind == core::HistoryKind::kNodeLost;
    report_.saves_waited_for += entry->kind == core::HistoryKind::kSaveWaitedFor;
    report_.saves_given_up += entry->kind == core::HistoryKind::kSaveGivenUp;
    report_.damaged_saves += entry->kind == core::HistoryKind::kSaveGivenUp &&
                             entry->text.starts_with("its ranks did not go on from the save");
    report_.idle_warnings += entry->kind == core::HistoryKind::kAttemptGpusIdle;
    report_.stalls += entry->kind == core::HistoryKind::kAttemptStalled;
    report_.outages += entry->kind == core::HistoryKind::kOutageBegan;
    report_.interrupts += entry->kind == core::HistoryKind::kInterruptRequested;
    report_.extended += entry->kind == core::HistoryKind::kGraceExtended;
    if (entry->kind == core::HistoryKind::kInterruptRequested) CountGrace(*entry);
    if (entry->kind == core::HistoryKind::kInterruptRequested) SeeRequest(*entry);
    report_.cordoned += entry->kind == core::HistoryKind::kNodeCordoned;
    report_.health_events += entry->kind == core::HistoryKind::kHealthEvent;
    report_.health_conditions += entry->kind == core::HistoryKind::kHealthCondition;
    report_.health_out +=
        entry->kind == core::HistoryKind::kNodeCordoned && entry->text.find(" by health: ") != std::string::npos;
    report_.drained += entry->kind == core::HistoryKind::kNodeDrained;
    report_.given_priority += entry->kind == core::HistoryKind::kJobPriority;
    report_.reserved += entry->kind == core::HistoryKind::kReservationBegan;
    report_.left_reserved += entry->kind == core::HistoryKind::kInterruptRequested &&
                             entry->text.find(" is reserved for ") != std::string::npos;
    report_.moved += entry->kind == core::HistoryKind::kInterruptRequested && entry->text.starts_with("moved by ");
    report_.withdrawn += entry->kind == core::HistoryKind::kInterruptWithdrawn;
    report_.swap_aborted += entry->kind == core::HistoryKind::kSwapAborted;
    report_.succeeded += entry->kind == core::HistoryKind::kJobSucceeded;
    report_.failed += entry->kind == core::HistoryKind::kJobFailed;
    report_.cancelled += entry->kind == core::HistoryKind::kJobCancelled;
  }
}

std::string ArgumentsOf(const WorldOptions& options) {
  const WorldOptions unsaid;
  std::string text = "--seed " + std::to_string(options.seed) + " --events " + std::to_string(options.events);
  if (options.faults) text += " --faults";
  const auto add = [&](const char* name, std::uint32_t value, std::uint32_t without) {
    if (value != without) text.append(" ").append(name).append(" ").append(std::to_string(value));
  };
  add("--zones", options.zones, unsaid.zones);
  add("--leaves", options.leaves_per_zone, unsaid.leaves_per_zone);
  add("--nodes", options.nodes_per_leaf, unsaid.nodes_per_leaf);
  add("--crowd", options.crowd, unsaid.crowd);
  add("--kinds", options.kinds, unsaid.kinds);
  return text;
}

}  // namespace glim::sim
