// The audit trail in SQLite.
#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/sqlite/sqlite_store.h"

namespace glim::store {

Status SqliteStore::WriteAudit(const std::vector<AuditRow>& audit) {
  for (const AuditRow& row : audit) {
    Status s = sql_.add_audit.Run(row.seq, row.at.ms, CleanText(row.user), EncodeAudit(row), CleanText(row.hash));
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Result<std::vector<AuditRow>> SqliteStore::Audit(const AuditQuery& wanted) {
  SqliteStatement& query = wanted.user.empty() ? sql_.audit : sql_.audit_of_user;
  auto first = FirstSince(sql_.audit_since, wanted.since);
  if (!first.ok()) return first.status();
  const auto from = std::min<std::uint64_t>(wanted.after, std::numeric_limits<std::int64_t>::max());
  const std::size_t most = std::min(wanted.limit, kHistoryMax);
  if (wanted.user.empty()) {
    query.Bind(from, *first, most);
  } else {
    query.Bind(from, *first, most, wanted.user);
  }
  std::vector<AuditRow> found;
  for (;;) {
    auto there = query.Step();
    if (!there.ok()) return there.status();
    if (!*there) return found;
    AuditRow columns;
    columns.seq = query.Unsigned(0);
    columns.at = TimePoint{query.Int(1)};
    columns.user = std::string(query.Text(2));
    columns.hash = std::string(query.Text(4));
    auto row = DecodeAudit(std::move(columns), query.Text(3));
    if (!row.ok()) {
      query.Reset();
      return row.status();
    }
    found.push_back(std::move(row).value());
  }
}

Result<AuditEnd> SqliteStore::LastAudit() {
  auto there = sql_.last_audit.Step();
  if (!there.ok()) return there.status();
  AuditEnd end;
  if (*there) end = {sql_.last_audit.Unsigned(0), std::string(sql_.last_audit.Text(1))};
  sql_.last_audit.Reset();
  return end;
}

Result<AuditEnd> SqliteStore::AuditBase() {
  auto seq = MetaNumber("audit_base_seq");
  if (!seq.ok()) return seq.status();
  auto hash = Meta("audit_base_hash");
  if (!hash.ok()) return hash.status();
  return AuditEnd{*seq, std::move(hash).value()};
}

Result<std::size_t> SqliteStore::PruneAudit(std::uint64_t epoch, TimePoint before) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  auto base = AuditBase();
  if (!base.ok()) return base.status();
  auto last = LastAudit();
  if (!last.ok()) return last.status();
  sql_.audit_before.Bind(before.ms);
  auto old = sql_.audit_before.Step();
  if (!old.ok()) return old.status();
  if (!*old) return std::size_t{0};
  const std::uint64_t upto = std::min({sql_.audit_before.Unsigned(0), last->seq - 1, base->seq + kPruneMax});
  sql_.audit_before.Reset();
  if (upto <= base->seq) return std::size_t{0};
  sql_.audit_hash.Bind(base->seq, upto);
  auto whole = sql_.audit_hash.Step();
  if (!whole.ok()) return whole.status();
  if (!*whole) return std::size_t{0};  // a row is missing: that is to be seen
  const std::string hash(sql_.audit_hash.Text(0));
  sql_.audit_hash.Reset();
  if (Status s = sql_.prune_audit.Run(upto); !s.ok()) return s;
  if (Status s = sql_.set_meta.Run("audit_base_seq", std::to_string(upto)); !s.ok()) return s;
  if (Status s = sql_.set_meta.Run("audit_base_hash", hash); !s.ok()) return s;
  if (Status s = transaction.Commit(); !s.ok()) return s;
  return static_cast<std::size_t>(upto - base->seq);
}

}  // namespace glim::store
