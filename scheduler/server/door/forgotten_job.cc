#include "scheduler/server/door/forgotten_job.h"

namespace glim::server {

bool MaySeeForgotten(const Caller& caller, core::JobId job, store::Store& store) {
  if (caller.IsOperator()) return true;
  store::Store::HistoryQuery query;
  query.job = job;
  query.limit = 1;
  const auto first = store.History(query);
  if (!first.ok() || first->empty()) return false;
  const core::HistoryEntry& entry = first->front().entry;
  return entry.kind == core::HistoryKind::kJobSubmitted && HasRight(caller, entry.facts.user, entry.facts.team);
}

}  // namespace glim::server
