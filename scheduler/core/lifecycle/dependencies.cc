#include "scheduler/core/lifecycle/dependencies.h"

#include <algorithm>
#include <string>
#include <utility>

namespace glim::core {
namespace {

std::string Name(const Dependency& dependency) {
  return std::to_string(dependency.job.value) + ":" + ToString(dependency.when) + (dependency.keep ? ":keep" : "");
}

const char* Wanted(DependencyKind when) {
  switch (when) {
    case DependencyKind::kOk: return "succeed";
    case DependencyKind::kFailed: return "fail or be cancelled, once it has run";
    case DependencyKind::kAny: return "end";
  }
  return "?";
}

// How a job that broke a dependency has ended.
const char* Ended(const Job* other, DependencyKind when) {
  if (!other) return when == DependencyKind::kOk ? "did not succeed" : "succeeded, or never ran";
  if (other->ended_unrun) return other->state == JobState::kCancelled ? "was cancelled before it ran" : "never ran";
  if (other->state == JobState::kCancelled) return "was cancelled";
  return ToString(other->state);
}

BrokenDependant Broken(const Job& job, const Job* other, const Dependency& dependency) {
  return {job.id, "job " + std::to_string(dependency.job.value) + " " + Ended(other, dependency.when) +
                      ", and it was to start after " + Name(dependency)};
}

Blocker BlockerOf(const Job* other, const Dependency& dependency, DependencyStanding standing) {
  Blocker blocker;
  blocker.kind = BlockerKind::kDependency;
  blocker.jobs = {dependency.job};
  const std::string who = "job " + std::to_string(dependency.job.value);
  if (standing == DependencyStanding::kBroken) {
    blocker.message = who + " " + Ended(other, dependency.when) + ", " + Name(dependency) +
                      " was asked for: cancel this job or submit it again without it";
  } else {
    blocker.message = std::string("waits for ") + who + " (" + (other ? ToString(other->state) : "over") + ") to " +
                      Wanted(dependency.when);
  }
  return blocker;
}

}  // namespace

DependencyStanding StandingOf(const Job* other, DependencyKind when) {
  if (!other) return DependencyStanding::kBroken;
  if (!IsTerminal(other->state)) return DependencyStanding::kPending;
  if (when == DependencyKind::kAny) return DependencyStanding::kFulfilled;
  // Nothing of it has failed that another job could make good: the rest of a chain of tries ends without running.
  const bool failed = other->state != JobState::kSucceeded && !other->ended_unrun;
  const bool fulfilled = when == DependencyKind::kOk ? other->state == JobState::kSucceeded : failed;
  return fulfilled ? DependencyStanding::kFulfilled : DependencyStanding::kBroken;
}

Status CheckDependencies(const ClusterState& state, const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.after.size(); ++i) {
    if (state.FindJob(spec.after[i].job)) continue;
    return Status(StatusCode::kFailedPrecondition, "there is no job " + std::to_string(spec.after[i].job.value) +
                                                       " (those that ended long ago are forgotten)")
        .WithReason("NO_SUCH_JOB")
        .WithField("after[" + std::to_string(i) + "]")
        .WithFix("glim queue --all lists the jobs; leave out what is over");
  }
  return Status::Ok();
}

std::vector<Dependency> Unfulfilled(const ClusterState& state, const JobSpec& spec) {
  std::vector<Dependency> left;
  for (const Dependency& dependency : spec.after) {
    const DependencyStanding standing = StandingOf(state.FindJob(dependency.job), dependency.when);
    if (standing != DependencyStanding::kFulfilled) left.push_back(dependency);
  }
  return left;
}

std::vector<BrokenDependant> TellDependants(Changes& changes, JobId ended) {
  const auto& all = changes.state().index().dependants;
  const auto found = all.find(ended);
  if (found == all.end()) return {};
  std::vector<BrokenDependant> broken;
  const Job& other = changes.job(ended);
  for (const JobId id : std::vector(found->second.begin(), found->second.end())) {
    changes.EditJob(id, [&](Job& job) {
      const auto gone = std::erase_if(job.waits_for, [&](const Dependency& d) {
        return d.job == ended && StandingOf(&other, d.when) == DependencyStanding::kFulfilled;
      });
      // From here on it waits for nodes: what is promised about waiting counts from now.
      if (gone > 0 && job.waits_for.empty() && job.state == JobState::kQueued) job.queued_at = changes.now();
    });
    for (const Dependency& d : changes.job(id).waits_for) {
      if (d.job == ended && !d.keep) broken.push_back(Broken(changes.job(id), &other, d));
    }
  }
  changes.MarkDirty();
  return broken;
}

std::vector<BrokenDependant> BrokenBy(const ClusterState& state, const Job& job) {
  for (const Dependency& dependency : job.waits_for) {
    const Job* other = state.FindJob(dependency.job);
    if (dependency.keep || StandingOf(other, dependency.when) != DependencyStanding::kBroken) continue;
    return {Broken(job, other, dependency)};
  }
  return {};
}

std::vector<Blocker> DependencyBlockers(const Tables& tables, const Job& job) {
  std::vector<Blocker> broken, pending;
  for (const Dependency& dependency : job.waits_for) {
    const Job* other = tables.jobs.Find(dependency.job);
    const DependencyStanding standing = StandingOf(other, dependency.when);
    auto& blockers = standing == DependencyStanding::kBroken ? broken : pending;
    blockers.push_back(BlockerOf(other, dependency, standing));
  }
  broken.insert(broken.end(), std::make_move_iterator(pending.begin()), std::make_move_iterator(pending.end()));
  return broken;
}

}  // namespace glim::core
