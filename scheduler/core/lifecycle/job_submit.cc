#include <algorithm>
#include <utility>

#include "scheduler/core/lifecycle/account_bars.h"
#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/job_submit.h"
#include "scheduler/core/lifecycle/notify_rules.h"
#include "scheduler/core/lifecycle/secret_rules.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/spec_bytes.h"
#include "scheduler/core/model/time_limit.h"
#include "sdk/base/size_text.h"

namespace glim::core {
namespace {

std::string WordsOfBytes(std::int64_t bytes) { return RoundedSizeText(static_cast<std::uint64_t>(bytes)); }

// The ids of an earlier submission under the same request_id; empty if there is none.
std::vector<JobId> FindRequest(const ClusterState& state, const SubmitJobs& event) {
  if (event.request_id.empty()) return {};
  const auto it = state.index().requests.find({event.user, event.request_id});
  if (it == state.index().requests.end()) return {};
  return {it->second.begin(), it->second.end()};
}

// The zones once each, in order.
std::vector<std::string> Sorted(std::vector<std::string> zones) {
  std::sort(zones.begin(), zones.end());
  zones.erase(std::unique(zones.begin(), zones.end()), zones.end());
  return zones;
}

// A spec that says no pool is the same whatever pool its team had then, one without a limit whichever its pool gave it,
// and one with other zones whichever of them the pool had.
bool SameSpec(const JobSpec& stored, JobSpec asked) {
  if (asked.pool.empty()) asked.pool = stored.pool;
  if (asked.time_limit.ms == 0) asked.time_limit = stored.time_limit;
  std::vector<std::string>& zones = asked.placement.zones;
  const std::vector<std::string>& kept = stored.placement.zones;
  if (zones != kept && !kept.empty()) {
    zones = Sorted(std::move(zones));
    if (std::includes(zones.begin(), zones.end(), kept.begin(), kept.end())) zones = kept;
  }
  return stored == asked;
}

bool SameAsSubmitted(const Job& job, JobSpec asked) {
  if (job.priority_set) asked.priority = job.spec->priority;  // nobody knows any more what it was
  if (job.updated) {
    asked.name = job.spec->name;
    asked.time_limit = job.spec->time_limit;
    asked.start_after = job.spec->start_after;
  }
  return SameSpec(*job.spec, std::move(asked));
}

Reply Repeat(const ClusterState& state, const SubmitJobs& event, const std::vector<JobId>& ids) {
  bool same = ids.size() == event.specs.size();
  for (std::size_t i = 0; same && i < ids.size(); ++i) same = SameAsSubmitted(*state.FindJob(ids[i]), event.specs[i]);
  Reply reply;
  if (same) {
    reply.jobs = ids;
  } else {
    reply.status = Status(StatusCode::kAlreadyExists, "request_id " + event.request_id + " was used with other specs")
                       .WithReason("REQUEST_ID_REUSED")
                       .WithField("request_id")
                       .WithFix("use a new request_id");
  }
  return reply;
}

Status CheckCounts(const KeptJobs& kept, const Policy& policy, const SubmitJobs& event) {
  const std::size_t mine = kept.UnfinishedOf(event.user).jobs;
  if (mine + event.specs.size() > policy.unfinished_jobs_per_user_max) {
    return Status(StatusCode::kResourceExhausted,
                  "user " + event.user + " has " + std::to_string(mine) + " unfinished jobs, " +
                      std::to_string(policy.unfinished_jobs_per_user_max) + " are allowed")
        .WithReason("TOO_MANY_JOBS")
        .WithFix("wait for some to end, or cancel some");
  }
  if (kept.unfinished.jobs + event.specs.size() > policy.unfinished_jobs_max) {
    return Status(StatusCode::kResourceExhausted,
                  "the cluster has " + std::to_string(kept.unfinished.jobs) + " unfinished jobs, which is its limit")
        .WithReason("TOO_MANY_JOBS")
        .WithFix("try again later");
  }
  return Status::Ok();
}

std::string AtIndex(const SubmitJobs& event, std::size_t i, const std::string& field) {
  return event.specs.size() == 1 ? field : "specs[" + std::to_string(i) + "]." + field;
}

Status TooLarge(const SubmitJobs& event, std::size_t largest, const std::string& message, std::string wait) {
  Status status(StatusCode::kResourceExhausted, message);
  const std::string field = LargestField(event.specs[largest]);
  if (field.empty()) return std::move(status).WithReason("TOO_MANY_BYTES").WithFix(std::move(wait));
  return std::move(status)
      .WithReason("TOO_MANY_BYTES")
      .WithField(AtIndex(event, largest, field))
      .WithFix(std::move(wait) + "; most is taken by " + field + ": put what is long into a file of the workdir");
}

Status CheckBytes(const KeptJobs& kept, const Policy& policy, const SubmitJobs& event) {
  std::int64_t asked = 0, most = 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < event.specs.size(); ++i) {
    const std::int64_t bytes = SpecBytes(event.specs[i]);
    asked += bytes;
    if (bytes > most) largest = i;
    most = std::max(most, bytes);
  }
  const std::string these = ", and " + std::to_string(event.specs.size()) + " more " + WordsOfBytes(asked) + ": ";
  const JobSums mine = kept.UnfinishedOf(event.user);
  if (mine.bytes + asked > policy.unfinished_spec_bytes_per_user_max) {
    return TooLarge(event, largest,
                    "the " + std::to_string(mine.jobs) + " unfinished jobs of user " + event.user + " take " +
                        WordsOfBytes(mine.bytes) + these + WordsOfBytes(policy.unfinished_spec_bytes_per_user_max) +
                        " are allowed (unfinished_spec_bytes_per_user_max)",
                    "wait for some to end, or cancel some");
  }
  if (kept.unfinished.bytes + asked > policy.unfinished_spec_bytes_max) {
    return TooLarge(event, largest,
                    "the unfinished jobs of all users take " + WordsOfBytes(kept.unfinished.bytes) + these +
                        WordsOfBytes(policy.unfinished_spec_bytes_max) + " are allowed (unfinished_spec_bytes_max)",
                    "try again later");
  }
  return Status::Ok();
}

Status CheckBounds(const KeptJobs& kept, const Policy& policy, const SubmitJobs& event) {
  if (Status s = CheckCounts(kept, policy, event); !s.ok()) return s;
  return CheckBytes(kept, policy, event);
}

// Whose team the job is for; of jobs that the event gives to a team, that one.
Result<std::string> TeamOf(const ClusterState& state, const SubmitJobs& event, const JobSpec& spec) {
  if (!event.team.empty() && spec.team.empty()) return event.team;
  return TeamFor(state.accounts(), event.user, spec.team);
}

Status CheckAccounts(const ClusterState& state, const SubmitJobs& event, const JobSpec& spec) {
  const auto team = TeamOf(state, event, spec);
  return team.ok() ? CheckQuotaAllows(state.accounts(), event.user, *team, spec) : team.status();
}

// Before anything is told about a pool.
Status CheckBars(const ClusterState& state, const Policy& policy, const SubmitJobs& event, const JobSpec& spec) {
  const auto team = TeamOf(state, event, spec);
  return CheckAccess(state.accounts(), policy, event.user, team.ok() ? *team : "", spec.pool);
}

bool IsStoredAsItIs(const Policy& policy, const JobSpec& spec) {
  return !spec.pool.empty() && spec.placement.zones.empty() &&
         LimitInPool(policy, spec.pool, spec.time_limit) == spec.time_limit;
}

// Those of them that the pool has, in order: jobs that may be in the same zones are one shape, and cost a planning pass
// no more than one job, however their users write that. All of them, where it has none: that is refused.
std::vector<std::string> ZonesOf(const ClusterState& state, const JobSpec& spec) {
  std::vector<std::string> zones = Sorted(spec.placement.zones);
  const auto pool = state.layouts().pools.find(spec.pool);
  if (pool == state.layouts().pools.end()) return zones;
  std::vector<std::string> there;
  for (const NodeKind& kind : pool->second.kinds) {
    if (std::binary_search(zones.begin(), zones.end(), kind.labels.zone)) there.push_back(kind.labels.zone);
  }
  return there.empty() ? zones : Sorted(std::move(there));
}

// As it is stored: a spec that names no pool has its team's; its zones, and its limit where it names none, are the
// pool's.
SubmitJobs AsStored(const ClusterState& state, const Policy& policy, SubmitJobs event) {
  for (JobSpec& spec : event.specs) {
    if (spec.pool.empty()) {
      const auto team = TeamOf(state, event, spec);  // one that is none is refused later
      spec.pool = DefaultPool(state.accounts(), team.ok() ? *team : "");
    }
    if (!spec.placement.zones.empty()) spec.placement.zones = ZonesOf(state, spec);
    spec.time_limit = LimitInPool(policy, spec.pool, spec.time_limit);
  }
  return event;
}

const JobSpec* SpecOf(const ClusterState& state, JobId id) {
  const Job* const job = state.FindJob(id);
  return job == nullptr ? nullptr : job->spec.get();
}

Status CheckSpecs(const ClusterState& state, const Policy& policy, const SubmitJobs& event, TimePoint now) {
  for (std::size_t i = 0; i < event.specs.size(); ++i) {
    const JobSpec& spec = event.specs[i];
    if (i > 0 && spec == event.specs[i - 1]) continue;
    Status s = CheckBars(state, policy, event, spec);
    if (s.ok()) s = CheckFeasible(state, policy, spec, event.user);
    if (s.ok()) s = CheckGrace(policy, spec);
    if (s.ok()) s = CheckLimitInPool(policy, spec);
    if (s.ok()) s = CheckFirstStart(spec, now);
    if (s.ok()) s = CheckDependencies(state, spec);
    if (s.ok()) s = CheckAccounts(state, event, spec);
    if (s.ok() && event.parent) s = CheckSecretsOfParent(SpecOf(state, event.parent), spec);
    if (s.ok()) s = CheckNotify(policy, spec);
    if (s.ok()) s = CheckSecretsAreSet(state.identity(), event.user, spec);
    if (!s.ok()) return std::move(s).WithField(AtIndex(event, i, s.field()));
  }
  return Status::Ok();
}

void TakeIn(Changes& changes, const SubmitJobs& event) {
  Reply& reply = changes.reply();
  reply.status = CheckBounds(changes.state().index().kept, changes.policy(), event);
  if (reply.status.ok()) reply.status = CheckSpecs(changes.state(), changes.policy(), event, changes.now());
  if (!reply.status.ok() || event.validate_only) return;
  std::shared_ptr<const JobSpec> spec;
  for (std::size_t i = 0; i < event.specs.size(); ++i) {
    if (!spec || *spec != event.specs[i]) spec = std::make_shared<const JobSpec>(event.specs[i]);
    Job job;
    job.id = changes.NewJobId();
    job.user = event.user;
    job.parent = event.parent;
    job.team = TeamOf(changes.state(), event, *spec).value();
    job.request_id = event.request_id;
    job.request_index = static_cast<std::uint32_t>(i);
    job.request_size = static_cast<std::uint32_t>(event.specs.size());
    job.spec = spec;
    job.priority = spec->priority;
    job.submitted_at = job.queued_at = changes.now();
    job.not_before = FirstStart(*spec, changes.now());
    job.waits_for = Unfulfilled(changes.state(), *spec);
    if (spec->checkpoint_dir.empty()) job.checkpoint_root = changes.policy().checkpoint_root;
    reply.jobs.push_back(job.id);
    changes.Note(HistoryKind::kJobSubmitted, {job.id, 0}, {}, "",
                 {.name = spec->name,
                  .user = job.user,
                  .team = job.team,
                  .priority = job.priority,
                  .nodes = spec->nodes,
                  .gpus = spec->gpus_per_node});
    changes.Write(std::move(job));
  }
  for (const JobId id : reply.jobs) FailBroken(changes, id);
}

}  // namespace

void ApplySubmit(Changes& changes, const SubmitJobs& event) {
  Reply& reply = changes.reply();
  const auto is_stored_as_it_is = [&](const JobSpec& spec) { return IsStoredAsItIs(changes.policy(), spec); };
  if (const auto earlier = FindRequest(changes.state(), event); !earlier.empty()) {
    reply = Repeat(changes.state(), event, earlier);
  } else if (event.specs.empty()) {
    reply.status = InvalidArgument("specs", "no job was given", "give at least one");
  } else if (std::all_of(event.specs.begin(), event.specs.end(), is_stored_as_it_is)) {
    TakeIn(changes, event);
  } else {
    TakeIn(changes, AsStored(changes.state(), changes.policy(), event));
  }
}

}  // namespace glim::core
