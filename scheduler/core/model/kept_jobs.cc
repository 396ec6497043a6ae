#include "scheduler/core/model/kept_jobs.h"

#include "scheduler/core/model/spec_bytes.h"

namespace glim::core {
namespace {

void CountIn(JobSums& sums, std::int64_t bytes, bool add) {
  sums.jobs += add ? 1 : -1u;
  sums.bytes += add ? bytes : -bytes;
}

void CountIn(EndedRows& rows, const KeptJob& job, std::int64_t bytes, bool add) {
  const std::pair key(job.ended_at, job.id);
  if (add) {
    rows.by_end.insert(key);
  } else {
    rows.by_end.erase(key);
  }
  rows.bytes += add ? bytes : -bytes;
}

}  // namespace

KeptJob::KeptJob(const Job& row)
    : id(row.id),
      user(row.user),
      is_over(IsTerminal(row.state)),
      measures(row.validates),
      ended_at(row.ended_at),
      spec(row.spec.get()),
      tale_bytes(TaleBytes(row)) {}

void KeptJobs::Count(const KeptJob& job, bool add) {
  const std::string user(job.user);
  const std::int64_t bytes = SpecBytes(*job.spec) + job.tale_bytes;
  if (job.is_over) {
    CountIn(job.measures ? measured : ended, job, bytes, add);
    EndedRows& mine = ended_by_user[user];
    CountIn(mine, job, bytes, add);
    if (mine.by_end.empty()) ended_by_user.erase(user);
    return;
  }
  CountIn(unfinished, bytes, add);
  JobSums& mine = unfinished_by_user[user];
  CountIn(mine, bytes, add);
  if (mine.jobs == 0) unfinished_by_user.erase(user);
}

JobSums KeptJobs::UnfinishedOf(const std::string& user) const {
  const auto found = unfinished_by_user.find(user);
  return found == unfinished_by_user.end() ? JobSums() : found->second;
}

}  // namespace glim::core
