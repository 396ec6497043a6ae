#include "scheduler/server/clients/storage_report.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/history_report.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

constexpr std::array<std::string_view, 3> kBys = {"user", "team", "job"};
// Of jobs that neither rows nor history know: no name of a user or team looks so.
constexpr char kUnknownRow[] = "(unknown)";

void Add(const v1::StorageReportRow& row, v1::StorageReportRow* to) {
  to->set_jobs(to->jobs() + row.jobs());
  to->set_ended_jobs(to->ended_jobs() + row.ended_jobs());
  to->set_saves(to->saves() + row.saves());
  to->set_bytes(to->bytes() + row.bytes());
  to->set_shared_bytes(to->shared_bytes() + row.shared_bytes());
}

}  // namespace

Result<StorageReport> StorageReport::For(const v1::GetStorageReportRequest& request) {
  StorageReport report;
  report.by_ = request.by().empty() ? "user" : request.by();
  if (std::find(kBys.begin(), kBys.end(), report.by_) == kBys.end()) {
    const std::string near = Nearest(report.by_, kBys);
    return InvalidArgument("by", "'" + Printable(report.by_) + "' is nothing to report storage by",
                           (near.empty() ? "" : "did you mean '" + near + "'? ") + "use user, team or job");
  }
  report.user_ = request.user();
  report.team_ = request.team();
  return report;
}

void StorageReport::Take(const core::Tables& tables, const HeldSaves& held) {
  std::set<core::NodeId> told_own;
  held.Each([&](const HeldSaves::Told& told) {
    if (tables.nodes.Find(told.node) == nullptr) return;
    if (!told.shared) told_own.insert(told.node);
    root_told_ = root_told_ || told.shared;
    if (!oldest_ || told.at < oldest_) oldest_ = told.at;
    for (const HeldSaves::OfJob& one : told.jobs) {
      OfJob& job = jobs_[one.job];
      job.saves += one.saves;
      job.bytes += one.bytes;
      if (told.shared) job.shared_bytes += one.bytes;
    }
  });
  nodes_told_ = static_cast<std::uint32_t>(told_own.size());
  tables.nodes.ForEach([&](core::NodeId id, const core::Node&) { nodes_silent_ += told_own.contains(id) ? 0 : 1; });
  for (auto& [id, job] : jobs_) {
    const core::Job* const row = tables.jobs.Find(id);
    if (row == nullptr) {
      ++unknown_;
      continue;
    }
    job.known = true;
    job.ended = core::IsTerminal(row->state);
    job.user = row->user;
    job.team = row->team;
    job.name = row->spec->name;
  }
}

void StorageReport::Name(const store::EndedFigures& job) {
  const auto it = jobs_.find(job.id);
  if (it == jobs_.end() || it->second.known) return;
  it->second.known = true;
  it->second.user = job.user;
  it->second.team = job.team;
  it->second.name = job.name;
}

std::string StorageReport::RowOf(core::JobId id, const OfJob& job) const {
  if (by_ == "job") return std::to_string(id.value);
  if (!job.known) return kUnknownRow;
  return by_ == "team" ? job.team : job.user;
}

void StorageReport::WriteTo(v1::GetStorageReportResponse* out) const {
  std::map<std::string, v1::StorageReportRow> rows;
  for (const auto& [id, job] : jobs_) {
    if ((!user_.empty() && job.user != user_) || (!team_.empty() && job.team != team_)) continue;
    v1::StorageReportRow of_job;
    of_job.set_jobs(1);
    of_job.set_ended_jobs(job.ended ? 1 : 0);
    of_job.set_saves(job.saves);
    of_job.set_bytes(job.bytes);
    of_job.set_shared_bytes(job.shared_bytes);
    Add(of_job, out->mutable_total());
    v1::StorageReportRow& row = rows[RowOf(id, job)];
    Add(of_job, &row);
    if (by_ != "job") continue;
    row.set_job_name(job.name);
    row.set_user(job.known ? job.user : kUnknownRow);
  }
  std::vector<v1::StorageReportRow> sorted;
  for (auto& [name, row] : rows) {
    row.set_name(name);
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.bytes() > b.bytes(); });
  v1::StorageReportRow others;
  others.set_name(kOthersRow);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i < kReportRowsMax) {
      *out->add_rows() = std::move(sorted[i]);
    } else {
      Add(sorted[i], &others);
    }
  }
  if (others.jobs() > 0) *out->add_rows() = std::move(others);
  out->set_by(by_);
  out->set_nodes_told(nodes_told_);
  out->set_nodes_silent(nodes_silent_);
  out->set_root_told(root_told_);
  out->set_oldest_look_ms(oldest_.ms);
}

}  // namespace glim::server
