#include "scheduler/core/model/kept_jobs.h"

#include "scheduler/core/model/spec_bytes.h"

namespace glim::core {
namespace {

void CountIn(JobSums& sums, std::int64_t bytes, bool add) {
  sums.jobs += add ? 1 : -1u;
  sums.bytes += add ? bytes : -bytes;
}

void CountIn(EndedRows& rows, const Job& row, std::int64_t bytes, bool add) {
  const std::pair key(row.ended_at, row.id);
  if (add) {
    rows.by_end.insert(key);
  } else {
    rows.by_end.erase(key);
  }
  rows.bytes += add ? bytes : -bytes;
}

}  // namespace

void KeptJobs::Count(const Job& row, bool add) {
  const std::int64_t bytes = SpecBytes(*row.spec) + TaleBytes(row);
  if (IsTerminal(row.state)) {
    CountIn(row.validates ? measured : ended, row, bytes, add);
    EndedRows& mine = ended_by_user[row.user];
    CountIn(mine, row, bytes, add);
    if (mine.by_end.empty()) ended_by_user.erase(row.user);
    return;
  }
  CountIn(unfinished, bytes, add);
  JobSums& mine = unfinished_by_user[row.user];
  CountIn(mine, bytes, add);
  if (mine.jobs == 0) unfinished_by_user.erase(row.user);
}

JobSums KeptJobs::UnfinishedOf(const std::string& user) const {
  const auto found = unfinished_by_user.find(user);
  return found == unfinished_by_user.end() ? JobSums() : found->second;
}

}  // namespace glim::core
