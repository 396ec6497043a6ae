#include "scheduler/server/loop/chronicle.h"

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "scheduler/core/model/waited.h"

namespace glim::server {
namespace {

// The newest version of each row that the batch has shown so far.
template <typename Id, typename Row>
class Versions {
 public:
  explicit Versions(const core::CowTable<Id, Row>& before) : before_(before) {}
  const Row* Find(const Id& id) const {
    const auto seen = seen_.find(id);
    return seen != seen_.end() ? seen->second : before_.Find(id);
  }
  // The version before this one; null for a new row.
  const Row* Replace(const Id& id, const Row* row) {
    const Row* const old = Find(id);
    seen_[id] = row;
    return old;
  }

 private:
  const core::CowTable<Id, Row>& before_;
  std::map<Id, const Row*> seen_;
};

class Recorder {
 public:
  explicit Recorder(const core::Tables& before)
      : jobs_(before.jobs), attempts_(before.attempts), nodes_(before.nodes) {}

  Chronicle Record(const std::vector<core::Mutation>& mutations) {
    for (const core::Mutation& mutation : mutations) std::visit([&](const auto& m) { See(m); }, mutation);
    for (const auto& [id, was_queued] : ended_) out_.ended.push_back(EndedJob(*jobs_.Find(id), was_queued));
    return std::move(out_);
  }
  store::EndedJob EndedJob(const core::Job& job, bool was_queued) const;

 private:
  void See(const std::shared_ptr<const core::Job>& row) {
    const core::Job* old = jobs_.Replace(row->id, row.get());
    if (old && core::IsTerminal(row->state) && !core::IsTerminal(old->state)) {
      ended_[row->id] = old->state == core::JobState::kQueued;
    }
  }
  void See(const std::shared_ptr<const core::Attempt>& row) { attempts_.Replace(row->id, row.get()); }
  void See(const std::shared_ptr<const core::Node>& row) { nodes_.Replace(row->id, row.get()); }
  void See(const core::HistoryEntry&) { out_.has_history = true; }
  template <typename Other>
  void See(const Other&) {}

  Versions<core::JobId, core::Job> jobs_;
  Versions<core::AttemptId, core::Attempt> attempts_;
  Versions<core::NodeId, core::Node> nodes_;
  std::map<core::JobId, bool> ended_;  // and whether it was waiting until then
  Chronicle out_;
};

store::EndedJob Recorder::EndedJob(const core::Job& job, bool was_queued) const {
  store::EndedJob out;
  out.id = job.id;
  out.name = job.spec->name;
  out.user = job.user;
  out.team = job.team;
  out.pool = job.spec->pool;
  out.priority = job.priority;
  out.state = job.state;
  out.message = job.message;
  out.nodes = job.spec->nodes;
  out.gpus_per_node = job.spec->gpus_per_node;
  out.submitted_at = job.submitted_at;
  out.ended_at = job.ended_at;
  out.attempts = job.attempts;
  out.interrupts = job.interrupts;
  out.restarts = job.restarts;
  out.steps_lost = job.steps_lost;
  out.durable_step = job.durable.step;
  out.ledger = job.ledger;
  out.started_at = job.earlier.started_at;
  out.waited = job.earlier.waited;
  out.simulated_gpus = job.earlier.simulated_gpus;
  if (const core::Attempt* newest = attempts_.Find({job.id, job.attempts})) {
    out.outcome = newest->outcome;
    out.exit_code = newest->exit_code;
  }
  if (was_queued) out.waited = out.waited + (job.ended_at - job.queued_at);
  for (std::uint32_t number = core::OldestKept(job.attempts); number <= job.attempts; ++number) {
    const core::Attempt* attempt = attempts_.Find({job.id, number});
    if (!attempt) continue;
    if (!out.started_at) out.started_at = attempt->started_at;
    const core::Attempt* next = attempts_.Find({job.id, number + 1});
    const TimePoint queued_again = was_queued ? job.queued_at : TimePoint{};
    out.waited = out.waited + core::WaitedFor(*attempt, next ? next->queued_at : queued_again);
    for (const core::NodeId id : attempt->nodes) {
      const core::Node* node = nodes_.Find(id);
      out.simulated_gpus = out.simulated_gpus || (node && node->labels.simulated_gpus);
    }
  }
  return out;
}

}  // namespace

Chronicle MakeChronicle(const core::Tables& before, const std::vector<core::Mutation>& mutations) {
  return Recorder(before).Record(mutations);
}

store::EndedJob RecordSoFar(const core::Tables& tables, const core::Job& job, TimePoint now) {
  core::Job until_now = job;
  until_now.ended_at = now;
  return Recorder(tables).EndedJob(until_now, job.state == core::JobState::kQueued);
}

}  // namespace glim::server
