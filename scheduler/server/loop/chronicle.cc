#include "scheduler/server/loop/chronicle.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace glim::server {
namespace {

constexpr std::size_t kNamesMax = 8;
constexpr std::size_t kTextBytesMax = 1000;

std::string Words(Duration duration) {
  if (duration.ms < 1000) return fmt::format("{} ms", std::max<std::int64_t>(0, duration.ms));
  if (duration.ms < 120'000) return fmt::format("{:.1f} s", static_cast<double>(duration.ms) / 1000);
  return fmt::format("{} min {} s", duration.ms / 60'000, duration.ms / 1000 % 60);
}

std::string Count(std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

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
  Recorder(const core::Tables& before, const core::ClusterState& after, TimePoint now)
      : after_(after), now_(now), jobs_(before.jobs), attempts_(before.attempts), nodes_(before.nodes) {}

  Chronicle Record(const std::vector<core::Mutation>& mutations) {
    out_.mutations.reserve(mutations.size());
    for (const core::Mutation& mutation : mutations) std::visit([&](const auto& m) { See(m); }, mutation);
    for (const auto& [id, was_queued] : ended_) out_.ended.push_back(EndedJob(*jobs_.Find(id), was_queued));
    return std::move(out_);
  }

 private:
  void See(const std::shared_ptr<const core::Job>& row) {
    const core::Job* old = jobs_.Replace(row->id, row.get());
    out_.mutations.emplace_back(row);
    if (!old) return;
    const bool was_held = old->state == core::JobState::kHeld && row->state == core::JobState::kQueued;
    const bool was_suspending =
        old->state == core::JobState::kSuspending && row->state == core::JobState::kInterrupting;
    if (was_held || was_suspending) {
      Add("job_resumed", {row->id, row->attempts}, {},
          fmt::format("by {}{}", row->user, was_suspending ? ", before it had left" : ""));
      if (was_held) resumed_.insert(row->id);
    }
    if (core::IsTerminal(row->state) && !core::IsTerminal(old->state)) {
      ended_[row->id] = old->state == core::JobState::kQueued;
    }
  }

  void See(const std::shared_ptr<const core::Attempt>& row) {
    const core::Attempt* old = attempts_.Replace(row->id, row.get());
    out_.mutations.emplace_back(row);
    if (!old || old->agreements.size() != row->agreements.size() || row->agreements.empty()) return;
    const core::Agreement& was = old->agreements.back();
    const core::Agreement& is = row->agreements.back();
    if (is.saved_at && !was.saved_at) {
      Add("interrupt_saved", row->id, {},
          fmt::format("through step {}, {} after the request", row->durable_step,
                      Words(is.saved_at - is.requested_at)));
    }
    if (is.deadline > was.deadline) {
      Add("grace_extended", row->id, {}, fmt::format("to {}", Words(is.deadline - is.requested_at)));
    }
    if (is.left_at && !was.left_at && row->stop != core::StopCause::kDeadline) {
      Add("interrupt_left", row->id, {},
          fmt::format("{} of {} grace used", Words(is.left_at - is.requested_at),
                      Words(is.deadline - is.requested_at)));
    }
  }

  void See(const std::shared_ptr<const core::Node>& row) {
    const core::Node* old = nodes_.Replace(row->id, row.get());
    out_.mutations.emplace_back(row);
    if (old && old->state == core::NodeState::kReady && row->state == core::NodeState::kSilent) {
      Add("node_silent", {}, row->id, row->message);
    }
  }

  void See(const core::HistoryEntry& noted) {
    // Queued again by its user: `job_resumed` says so already.
    if (noted.kind == "job_queued" && resumed_.erase(noted.job) > 0) return;
    core::HistoryEntry entry = noted;
    Complete(&entry);
    Push(std::move(entry));
  }

  template <typename Other>
  void See(const Other& other) {
    out_.mutations.emplace_back(other);
  }

  void Add(const char* kind, core::AttemptId attempt, core::NodeId node, std::string text) {
    Push({now_, kind, attempt.job, attempt.number, node, std::move(text)});
  }

  void Push(core::HistoryEntry entry) {
    if (entry.text.size() > kTextBytesMax) {
      entry.text.resize(kTextBytesMax - 3);
      entry.text += "...";
    }
    out_.mutations.emplace_back(std::move(entry));
    out_.has_history = true;
  }

  void Complete(core::HistoryEntry* entry) const;
  void CompleteJob(core::HistoryEntry* entry) const;
  void CompleteAttempt(const core::Attempt& attempt, core::HistoryEntry* entry) const;
  void CompleteNode(const core::Node& node, core::HistoryEntry* entry) const;
  std::string Names(const std::vector<core::NodeId>& nodes) const;
  store::EndedJob EndedJob(const core::Job& job, bool was_queued) const;

  const core::ClusterState& after_;
  const TimePoint now_;
  Versions<core::JobId, core::Job> jobs_;
  Versions<core::AttemptId, core::Attempt> attempts_;
  Versions<core::NodeId, core::Node> nodes_;
  std::set<core::JobId> resumed_;
  std::map<core::JobId, bool> ended_;  // and whether it was waiting until then
  Chronicle out_;
};

std::string Recorder::Names(const std::vector<core::NodeId>& nodes) const {
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamesMax); ++i) {
    const core::Node* node = nodes_.Find(nodes[i]);
    names += (i == 0 ? "" : ", ") + (node ? node->name : std::string("?"));
  }
  if (nodes.size() > kNamesMax) names += fmt::format(" and {} more", nodes.size() - kNamesMax);
  return names;
}

void Recorder::Complete(core::HistoryEntry* entry) const {
  if (entry->kind == "job_submitted") return CompleteJob(entry);
  const core::Attempt* attempt = attempts_.Find({entry->job, entry->attempt});
  if (attempt) return CompleteAttempt(*attempt, entry);
  const core::Node* node = entry->job ? nullptr : nodes_.Find(entry->node);
  // A new node's row is written after the note.
  if (!node && !entry->job) node = after_.FindNode(entry->node);
  if (node) CompleteNode(*node, entry);
}

void Recorder::CompleteJob(core::HistoryEntry* entry) const {
  const core::Job* job = after_.FindJob(entry->job);  // its row is written after the note
  if (!job) return;
  const core::JobSpec& spec = *job->spec;
  entry->text = fmt::format("{} by {}: {} x {}, {}", spec.name, job->user, Count(spec.nodes, "node"),
                            Count(spec.gpus_per_node, "GPU"), core::ToString(job->priority));
}

void Recorder::CompleteAttempt(const core::Attempt& attempt, core::HistoryEntry* entry) const {
  if (entry->kind == "attempt_claimed") {
    std::set<core::JobId> victims;
    for (const core::AttemptId victim : attempt.victims) victims.insert(victim.job);
    std::string waits_for;
    for (const core::JobId victim : victims) {
      if (waits_for.size() > kTextBytesMax / 4) break;
      waits_for += (waits_for.empty() ? "" : ", ") + std::to_string(victim.value);
    }
    entry->text = fmt::format("{}: {}", Names(attempt.nodes), entry->text);
    if (!victims.empty()) entry->text += fmt::format("; waits for job{} {}", victims.size() == 1 ? "" : "s", waits_for);
  } else if (entry->kind == "attempt_starting") {
    entry->text = fmt::format(
        "on {}, {}", Names(attempt.nodes),
        attempt.base.step < 0 ? std::string("from the beginning") : fmt::format("from step {}", attempt.base.step + 1));
  } else if (entry->kind == "attempt_running") {
    entry->text = fmt::format("{} after it was queued", Words(attempt.running_at - attempt.queued_at));
  } else if (entry->kind == "attempt_stopping") {
    entry->text = attempt.message;
  } else if (entry->kind == "interrupt_requested" && !attempt.agreements.empty()) {
    const core::Agreement& agreement = attempt.agreements.back();
    const core::Job* job = jobs_.Find(entry->job);
    const bool signalled = job && agreement.state == core::AgreementState::kSignalled;
    entry->text += fmt::format("; {}{} of grace", signalled ? "SIG" + job->spec->interrupt_signal + ", " : "",
                               Words(agreement.deadline - agreement.requested_at));
  } else if (entry->text.ends_with(": ")) {
    entry->text.resize(entry->text.size() - 2);  // an end that needs no explanation
  }
}

void Recorder::CompleteNode(const core::Node& node, core::HistoryEntry* entry) const {
  if (entry->kind == "node_registered") {
    entry->text = fmt::format("pool {}, zone {}, {}{}", node.labels.pool, node.labels.zone,
                              Count(node.labels.gpu_count, "GPU"), node.labels.simulated_gpus ? " (simulated)" : "");
  } else if (entry->kind == "node_lost") {
    entry->text = node.message;
  } else if (entry->kind == "node_returned") {
    entry->text = "by an operator";
  }
}

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
  if (was_queued) out.waited = job.ended_at - job.queued_at;
  for (std::uint32_t number = 1; number <= job.attempts; ++number) {
    const core::Attempt* attempt = attempts_.Find({job.id, number});
    if (!attempt) continue;
    if (!out.started_at) out.started_at = attempt->started_at;
    const TimePoint waited_until = attempt->started_at ? attempt->started_at : attempt->ended_at;
    if (waited_until) out.waited = out.waited + (waited_until - attempt->queued_at);
    for (const core::NodeId id : attempt->nodes) {
      const core::Node* node = nodes_.Find(id);
      out.simulated_gpus = out.simulated_gpus || (node && node->labels.simulated_gpus);
    }
  }
  return out;
}

}  // namespace

Chronicle MakeChronicle(const core::Tables& before, const core::ClusterState& after,
                        const std::vector<core::Mutation>& mutations, TimePoint now) {
  return Recorder(before, after, now).Record(mutations);
}

}  // namespace glim::server
