#include "scheduler/core/model/save_retention.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace glim::core {
namespace {

Duration AgeOf(const SaveRetention& retention, JobState state) {
  if (state == JobState::kSucceeded) return retention.succeeded;
  return state == JobState::kFailed ? retention.failed : retention.cancelled;
}

Duration LongestAge(const SaveRetention& r) { return std::max({r.succeeded, r.failed, r.cancelled}); }

// Below the checkpoint root only what Glim named lies in its jobs' folders; a node's own folder has nothing else.
bool IsGlims(const Policy& policy, const Job& job, SavesIn where) {
  if (where == SavesIn::kOwnFolder) return true;
  return job.spec->checkpoint_dir.empty() && job.checkpoint_root == policy.checkpoint_root;
}

JobId NewestKnown(const Tables& tables) {
  JobId newest;
  tables.jobs.ForEach([&](JobId id, const Job&) { newest = std::max(newest, id); });
  return newest;
}

// Adds the jobs whose folder below `jobs` ("/shared/glim/jobs/") the text names.
void AddNamed(std::string_view text, std::string_view jobs, std::set<JobId>* named) {
  for (std::size_t at = text.find(jobs); at != std::string_view::npos; at = text.find(jobs, at + jobs.size())) {
    JobId id;
    for (std::size_t digit = at + jobs.size(); digit < text.size() && text[digit] >= '0' && text[digit] <= '9';
         ++digit) {
      id.value = id.value * 10 + static_cast<std::uint64_t>(text[digit] - '0');
    }
    if (id) named->insert(id);
  }
}

// Of jobs that have not ended.
std::set<JobId> NamedByTheLiving(const Tables& tables, const Policy& policy) {
  std::set<JobId> named;
  const std::string jobs = policy.checkpoint_root + "/jobs/";
  tables.jobs.ForEach([&](JobId, const Job& job) {
    if (IsTerminal(job.state)) return;
    const JobSpec& spec = *job.spec;
    for (const Dependency& dependency : spec.after) named.insert(dependency.job);
    if (policy.checkpoint_root.empty()) return;
    for (const std::string* text : {&spec.workdir, &spec.run, &spec.checkpoint_dir}) AddNamed(*text, jobs, &named);
    for (const Mount& mount : spec.mounts) AddNamed(mount.source, jobs, &named);
    for (const auto& [name, value] : spec.env) AddNamed(value, jobs, &named);
  });
  return named;
}

struct Ended {
  JobId job;
  bool succeeded = false;
  TimePoint since;  // its age counts from then
  TimePoint until;
  std::int64_t bytes = 0;
};

// Successes first, oldest first: what a bound takes away first.
bool IsWorthLess(const Ended& a, const Ended& b) {
  return std::make_tuple(!a.succeeded, a.since, a.job) < std::make_tuple(!b.succeeded, b.since, b.job);
}

class Judge {
 public:
  Judge(const Tables& tables, const Policy& policy, TimePoint now, SavesIn where)
      : tables_(tables), policy_(policy), retention_(policy.checkpoint_retention), now_(now), where_(where) {}

  void See(const HeldSaves& held) {
    const Job* job = tables_.jobs.Find(held.job);
    if (!job) return SeeForgotten(held);
    if (!IsTerminal(job->state) || !IsGlims(policy_, *job, where_)) return;
    verdict_.note.push_back(job->id);
    const TimePoint changed = held.changed_at > now_ ? TimePoint{} : held.changed_at;
    const TimePoint since = std::max(job->ended_at, changed);
    ended_.push_back({job->id, job->state == JobState::kSucceeded, since, since + AgeOf(retention_, job->state),
                      std::max<std::int64_t>(0, held.bytes)});
  }

  SavesVerdict Take() {
    std::sort(ended_.begin(), ended_.end(), IsWorthLess);
    std::int64_t bytes = 0;
    std::vector<Ended> young;
    for (const Ended& one : ended_) {
      const bool goes = one.until <= now_ && Remove(one.job);
      if (goes) continue;
      bytes += one.bytes;
      young.push_back(one);
    }
    for (const Ended& one : young) {
      if (retention_.bytes_max == 0 || bytes <= retention_.bytes_max) break;
      if (Remove(one.job)) bytes -= one.bytes;
    }
    std::sort(verdict_.remove.begin(), verdict_.remove.end());
    std::sort(verdict_.note.begin(), verdict_.note.end());
    return std::move(verdict_);
  }

 private:
  // No row is left of it. A number that this cluster has not given out yet is of another cluster, or of a newer state
  // of the store.
  void SeeForgotten(const HeldSaves& held) {
    if (where_ == SavesIn::kSharedRoot && !held.noted) return;
    if (!newest_) newest_ = NewestKnown(tables_);
    if (held.job > newest_ || held.changed_at > now_) return;
    ended_.push_back({held.job, false, held.changed_at, held.changed_at + LongestAge(retention_),
                      std::max<std::int64_t>(0, held.bytes)});
  }

  bool Remove(JobId job) {
    if (!named_known_) named_ = NamedByTheLiving(tables_, policy_);  // looks at every job: only when something may go
    named_known_ = true;
    if (named_.contains(job)) return false;
    verdict_.remove.push_back(job);
    return true;
  }

  const Tables& tables_;
  const Policy& policy_;
  const SaveRetention& retention_;
  const TimePoint now_;
  const SavesIn where_;
  std::vector<Ended> ended_;
  JobId newest_;
  std::set<JobId> named_;
  bool named_known_ = false;
  SavesVerdict verdict_;
};

}  // namespace

SavesVerdict JudgeSaves(const Tables& tables, const Policy& policy, TimePoint now, SavesIn where,
                        const std::vector<HeldSaves>& held) {
  if (policy.checkpoint_retention.forever) return {};
  if (where == SavesIn::kSharedRoot && policy.checkpoint_root.empty()) return {};
  Judge judge(tables, policy, now, where);
  for (const HeldSaves& one : held) judge.See(one);
  return judge.Take();
}

TimePoint SavesKeptUntil(const Policy& policy, const Job& job) {
  if (!IsTerminal(job.state) || job.attempts == 0 || policy.checkpoint_retention.forever) return {};
  if (!job.spec->checkpoint_dir.empty()) return {};
  if (!job.checkpoint_root.empty() && job.checkpoint_root != policy.checkpoint_root) return {};
  return job.ended_at + AgeOf(policy.checkpoint_retention, job.state);
}

NodeId RootCollector(const Tables& tables, const Policy& policy) {
  NodeId collector;
  if (policy.checkpoint_root.empty()) return collector;
  tables.nodes.ForEach([&](NodeId id, const Node& node) {
    const bool sees = node.state == NodeState::kReady && node.root_error.empty() && !node.root_marker.empty();
    if (sees && !collector) collector = id;
  });
  return collector;
}

}  // namespace glim::core
