#include "scheduler/core/planning/reserved.h"

#include <algorithm>
#include <tuple>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/planning/reserved_share.h"

namespace glim::core {
namespace {

constexpr Duration kLeadMargin = Seconds(5);
constexpr std::uint32_t kEndsKnownLeast = 10;  // with fewer ended jobs nothing is known of how long jobs take

std::vector<NodeId> NodesOf(const Reservation& row) {
  std::vector<NodeId> nodes;
  for (const ReservedNode& node : row.nodes) nodes.push_back(node.id);
  return nodes;
}

}  // namespace

Duration LeaveLead(const Policy& policy, const Job& job) {
  const Duration grace = GraceOf(policy, *job.spec, job.priority).grace;
  if (job.leaves == 0) return grace;
  return std::min(grace, Milliseconds(job.leave_time.ms * 3 / 2) + kLeadMargin);
}

Duration UsefulRun(const Policy& policy, const Job& job) {
  const Duration save = job.save_cost.ms > 0 ? job.save_cost : policy.default_save_cost;
  const Duration restore = job.restore_cost.ms > 0 ? job.restore_cost : policy.default_restore_cost;
  return (save + restore) * 2;
}

Duration ChoiceLead(const Policy& policy) {
  return LongestGraceCap(policy) + (policy.default_save_cost + policy.default_restore_cost) * 2;
}

Reserved::Reserved(const ClusterState& state, const Policy& policy, TimePoint now)
    : state_(state), policy_(policy), now_(now) {
  state.tables().reservations.ForEach([&](const std::string&, const Reservation& row) {
    if (row.ends_at > now) all_.push_back({&row, {}});
  });
  if (all_.empty()) return;
  std::sort(all_.begin(), all_.end(), [](const PassReservation& a, const PassReservation& b) {
    return std::tie(a.row->begins_at, a.row->name) < std::tie(b.row->begins_at, b.row->name);
  });
  Choose();
  ChooseLeaves();
}

void Reserved::LookAgain(TimePoint at) {
  if (at > now_ && (!look_again_ || at < look_again_)) look_again_ = at;
}

// Named nodes first: a share can have others.
void Reserved::Choose() {
  for (PassReservation& one : all_) {
    if (one.row->share == 0) one.nodes = Named(*one.row);
  }
  for (PassReservation& one : all_) {
    if (one.row->share == 0) {
      if (one.nodes != NodesOf(*one.row)) changed_.emplace_back(one.row->name, one.nodes);
      continue;
    }
    const TimePoint from = one.row->begins_at - ChoiceLead(policy_);
    const bool near = one.row->begun_at || now_ >= from;
    one.nodes = Share(*one.row, near);
    LookAgain(from);
    const std::vector<NodeId> own = near ? one.nodes : std::vector<NodeId>();
    if (own != NodesOf(*one.row)) changed_.emplace_back(one.row->name, own);
  }
}

std::vector<NodeId> Reserved::Named(const Reservation& row) const {
  std::vector<NodeId> nodes;
  for (const std::string& name : row.node_names) {
    const auto id = state_.index().node_by_name.find(name);
    if (id != state_.index().node_by_name.end()) nodes.push_back(id->second);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::set<NodeId> Reserved::TakenBeside(const Reservation& row) const {
  std::set<NodeId> taken;
  for (const PassReservation& other : all_) {  // a share that comes later has no nodes yet
    if (other.row != &row && OverlapInTime(*other.row, row)) taken.insert(other.nodes.begin(), other.nodes.end());
  }
  return taken;
}

std::vector<NodeId> Reserved::Share(const Reservation& row, bool exact) const {
  return ChooseShare(state_, policy_, now_, row, TakenBeside(row), exact);
}

void Reserved::AskAt(AttemptId id, const Reservation& row, TimePoint at) {
  if (now_ < at) return LookAgain(at);
  if (leaving_.insert(id).second) leaves_.push_back({id, row.name});
}

void Reserved::ChooseLeaves() {
  for (const PassReservation& one : all_) {
    const Reservation& row = *one.row;
    if (row.share > 0 && !row.begun_at && now_ < row.begins_at - ChoiceLead(policy_)) continue;
    for (const NodeId id : one.nodes) {
      const Node& node = *state_.FindNode(id);
      for (const AttemptId has : {node.claim, node.holder}) {
        const Attempt* attempt = state_.FindAttempt(has);
        if (!attempt || LeavesAnyway(*attempt)) continue;
        const Job& job = *state_.FindJob(has.job);
        if (IsOf(row, job.team)) continue;
        AskAt(has, row, row.begins_at - LeadOf(job, *attempt, row));
      }
    }
  }
}

Duration Reserved::LeadOf(const Job& job, const Attempt& attempt, const Reservation& row) const {
  const Duration lead = LeaveLead(policy_, job);
  if (!policy_.enforce_time_limits || job.spec->time_limit.ms <= 0) return lead;
  // Who waits for its nodes keeps them as long as they would be given to it (StandingOf): its whole limit fits.
  if (attempt.state == AttemptState::kClaimed && !Planted(PlantedBug::kClaimTakenBack))
    return std::min(lead, job.spec->time_limit - Milliseconds(1));
  const TimePoint limit = LimitAt(job, attempt);
  return limit && limit <= row.begins_at ? Duration{} : lead;
}

ReservedFor Reserved::StandingOf(const Reservation& row, const Job& job) const {
  const TimePoint begins = row.begins_at;
  if (IsOf(row, job.team)) return now_ >= begins ? ReservedFor::kOwn : ReservedFor::kOpen;
  if (now_ >= begins) return KeepsOut(row, job.team, now_) ? ReservedFor::kClosed : ReservedFor::kOpen;
  const Duration limit = policy_.enforce_time_limits ? job.spec->time_limit : Duration{};
  if (limit.ms > 0 && now_ + limit <= begins) return ReservedFor::kOpen;
  // Its whole grace, whatever is learnt: who was asked to leave just now would come back for some seconds otherwise.
  // As it has it in any class: it may run as of another than it waits as, and is asked by the grace of that one.
  const Duration grace = std::min(job.spec->grace, LongestGraceCap(policy_));
  if (now_ + UsefulRun(policy_, job) + grace >= begins) return ReservedFor::kClosed;
  const ServiceHistory& history = state_.index().history;
  if (history.observed() < kEndsKnownLeast) return ReservedFor::kAvoid;
  const Duration likely = history.RemainingOf(KindOf(job), ServiceBucket(job.service)).p50;
  return now_ + likely <= begins ? ReservedFor::kOpen : ReservedFor::kAvoid;
}

std::vector<ReservedFor> Reserved::StandingOf(const std::vector<const Reservation*>& rows, const Job& job) const {
  std::vector<ReservedFor> standing;
  for (const Reservation* row : rows) standing.push_back(StandingOf(*row, job));
  return standing;
}

ReservedFor StandingAt(const std::vector<std::vector<std::uint32_t>>& reserved,
                       const std::vector<ReservedFor>& standing, std::uint32_t node) {
  ReservedFor at = ReservedFor::kOpen;
  if (reserved.empty()) return at;
  for (const std::uint32_t row : reserved[node]) at = std::max(at, standing[row]);
  return at;
}

}  // namespace glim::core
