// MemoryStore's audit trail.
#include <algorithm>

#include <fmt/format.h>

#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/memory/memory_store.h"

namespace glim::store {

// What a primary key does elsewhere.
Status MemoryStore::CheckAuditIsNew(const std::vector<AuditRow>& audit) const {
  for (const AuditRow& row : audit) {
    if (!data_->audit.contains(row.seq)) continue;
    return Status(StatusCode::kInternal, fmt::format("audit row {} is there already", row.seq))
        .WithReason("STORE_CONSTRAINT");
  }
  return Status::Ok();
}

Result<std::vector<AuditRow>> MemoryStore::Audit(const AuditQuery& query) {
  const std::size_t most = std::min(query.limit, kHistoryMax);
  std::vector<AuditRow> found;
  for (auto it = data_->audit.upper_bound(query.after); it != data_->audit.end() && found.size() < most; ++it) {
    const AuditRow& row = it->second;
    if ((query.user.empty() || row.user == query.user) && row.at >= query.since) found.push_back(row);
  }
  return found;
}

Result<AuditEnd> MemoryStore::LastAudit() {
  if (data_->audit.empty()) return AuditEnd{};
  const AuditRow& last = data_->audit.rbegin()->second;
  return AuditEnd{last.seq, last.hash};
}

Result<AuditEnd> MemoryStore::AuditBase() { return data_->audit_base; }

Result<std::size_t> MemoryStore::PruneAudit(std::uint64_t epoch, TimePoint before) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  std::size_t gone = 0;
  while (data_->audit.size() > 1 && gone < kPruneMax) {
    const auto oldest = data_->audit.begin();
    if (oldest->second.at >= before || oldest->first != data_->audit_base.seq + 1) break;
    data_->audit_base = {oldest->first, oldest->second.hash};
    data_->audit.erase(oldest);
    ++gone;
  }
  return gone;
}

}  // namespace glim::store
