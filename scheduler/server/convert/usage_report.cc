#include "scheduler/server/convert/usage_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/ledger.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

using core::Use;
using core::UseTotals;

constexpr std::size_t kRowsMax = 1000;

struct Row {
  std::string kind;
  std::string name;
  UseTotals uses{};
  std::uint32_t count = 0;
  bool simulated = false;
  const core::Job* job = nullptr;
};
using Rows = std::map<std::string, Row>;

std::int64_t& At(UseTotals& uses, Use use) { return uses[static_cast<std::size_t>(use)]; }
std::int64_t Sum(const UseTotals& uses) { return std::accumulate(uses.begin(), uses.end(), std::int64_t{0}); }
void Add(const UseTotals& from, UseTotals* to) {
  for (std::size_t i = 0; i < core::kUses; ++i) (*to)[i] += from[i];
}

// What the node does at present, since it began to; not in its ledger yet.
std::int64_t Unbooked(const core::Node& node, TimePoint now) {
  return (now - node.use_since).ms * node.labels.gpu_count;
}

UseTotals UsesOf(const core::Node& node, TimePoint now) {
  UseTotals uses = node.ledger;
  At(uses, node.use) += Unbooked(node, now);
  return uses;
}

Rows ByPool(const core::Tables& tables, TimePoint now) {
  Rows rows;
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    Row& row = rows[node.labels.pool];
    row.kind = "pool";
    row.name = node.labels.pool;
    row.count += 1;
    row.simulated = row.simulated || node.labels.simulated_gpus;
    Add(UsesOf(node, now), &row.uses);
  });
  return rows;
}

Rows ByJobs(const core::Tables& tables, const std::string& by, TimePoint now) {
  // Of the nodes that jobs hold at present: few, beside the jobs.
  std::map<core::JobId, UseTotals> unbooked;
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    if (node.holder) At(unbooked[node.holder.job], node.use) += Unbooked(node, now);
  });
  Rows rows;
  tables.jobs.ForEach([&](core::JobId id, const core::Job& job) {
    UseTotals uses = job.ledger;
    if (const auto it = unbooked.find(id); it != unbooked.end()) Add(it->second, &uses);
    if (Sum(uses) == 0) return;
    const std::string name = by == "team" ? job.team : by == "user" ? job.user : std::to_string(id.value);
    Row& row = rows[name];
    row.kind = by;
    row.name = name;
    row.count += 1;
    if (by == "job") row.job = &job;
    Add(uses, &row.uses);
  });
  return rows;
}

// What jobs had of nodes that an operator has removed since, and whose own ledgers are gone with them. How much it is.
std::int64_t AddRemovedNodes(const std::vector<Row>& jobs, UseTotals* of_nodes) {
  UseTotals of_jobs{};
  for (const Row& row : jobs) Add(row.uses, &of_jobs);
  std::int64_t removed = 0;
  for (std::size_t i = 0; i < core::kUses; ++i) {
    const std::int64_t more = std::max<std::int64_t>(0, of_jobs[i] - (*of_nodes)[i]);
    (*of_nodes)[i] += more;
    removed += more;
  }
  return removed;
}

// The time of nodes that is in no job's row: nobody held them, or the job's row is not kept any more.
void AddRest(const UseTotals& of_nodes, std::vector<Row>* rows) {
  UseTotals rest = of_nodes;
  for (const Row& row : *rows) {
    for (std::size_t i = 0; i < core::kUses; ++i) rest[i] -= row.uses[i];
  }
  Row nobody{"no_job", "", {}, 0, false, nullptr};
  for (const Use use : {Use::kFree, Use::kUnavailable}) At(nobody.uses, use) = std::exchange(At(rest, use), 0);
  rows->push_back(std::move(nobody));
  if (rest != UseTotals{}) rows->push_back({"forgotten", "", rest, 0, false, nullptr});
}

// The largest first; what is beyond the bound becomes one row.
std::vector<Row> Largest(Rows rows) {
  std::vector<Row> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return Sum(a.uses) > Sum(b.uses); });
  if (sorted.size() <= kRowsMax) return sorted;
  Row others{"others", "", {}, 0, false, nullptr};
  for (std::size_t i = kRowsMax; i < sorted.size(); ++i) {
    Add(sorted[i].uses, &others.uses);
    others.count += sorted[i].count;
    others.simulated = others.simulated || sorted[i].simulated;
  }
  sorted.resize(kRowsMax);
  sorted.push_back(std::move(others));
  return sorted;
}

void RowToProto(const Row& row, v1::ReportRow* out) {
  out->set_kind(row.kind);
  out->set_name(row.name);
  UsesToProto(row.uses, out->mutable_uses());
  out->set_gpu_ms(Sum(row.uses));
  out->set_count(row.count);
  out->set_simulated_gpus(row.simulated);
  if (!row.job) return;
  out->set_job_name(row.job->spec->name);
  out->set_user(row.job->user);
}

}  // namespace

void UsesToProto(const UseTotals& uses, v1::Uses* out) {
  const auto of = [&](Use use) { return uses[static_cast<std::size_t>(use)]; };
  out->set_free_gpu_ms(of(Use::kFree));
  out->set_claimed_gpu_ms(of(Use::kClaimed));
  out->set_unavailable_gpu_ms(of(Use::kUnavailable));
  out->set_starting_gpu_ms(of(Use::kStarting));
  out->set_restoring_gpu_ms(of(Use::kRestoring));
  out->set_productive_gpu_ms(of(Use::kProductive));
  out->set_stopping_gpu_ms(of(Use::kStopping));
  out->set_lost_gpu_ms(of(Use::kLost));
}

UseTotals UsesOf(const core::Tables& tables, const core::Job& job, TimePoint now) {
  UseTotals uses = job.ledger;
  const core::Attempt* attempt = tables.attempts.Find({job.id, job.attempts});
  if (!attempt) return uses;
  for (const core::NodeId id : attempt->nodes) {
    const core::Node* node = tables.nodes.Find(id);
    if (node && node->holder == attempt->id) At(uses, node->use) += Unbooked(*node, std::max(now, node->use_since));
  }
  return uses;
}

Result<v1::GetReportResponse> MakeReport(const core::Tables& tables, const std::string& by, TimePoint now) {
  const bool jobs = by == "team" || by == "user" || by == "job";
  if (!jobs && by != "pool" && !by.empty()) {
    return InvalidArgument("by", "'" + Printable(by) + "' is nothing to report by", "use pool, team, user or job");
  }
  std::int64_t registered = 0;
  UseTotals total{};
  bool simulated = false;
  // One moment for all: none before what the rows already tell of.
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) { now = std::max(now, node.use_since); });
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    registered += core::RegisteredGpuMs(node, now);
    Add(UsesOf(node, now), &total);
    simulated = simulated || node.labels.simulated_gpus;
  });
  std::vector<Row> rows = Largest(jobs ? ByJobs(tables, by, now) : ByPool(tables, now));
  // Of whatever it is: all sums are the same.
  UseTotals removed = total;
  registered += AddRemovedNodes(jobs ? rows : Largest(ByJobs(tables, "user", now)), &total);
  for (std::size_t i = 0; i < core::kUses; ++i) removed[i] = total[i] - removed[i];
  if (jobs) AddRest(total, &rows);
  if (!jobs && removed != UseTotals{}) rows.push_back({"removed", "", removed, 0, false, nullptr});

  v1::GetReportResponse response;
  response.set_by(by.empty() ? "pool" : by);
  std::int64_t sum = 0;
  for (const Row& row : rows) {
    RowToProto(row, response.add_rows());
    sum += Sum(row.uses);
  }
  UsesToProto(total, response.mutable_total());
  response.set_total_gpu_ms(sum);
  response.set_registered_gpu_ms(registered);
  response.set_until_ms(now.ms);
  response.set_simulated_gpus(simulated);
  return response;
}

}  // namespace glim::server
