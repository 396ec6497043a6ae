// The audit trail in PostgreSQL; its rows are written by glim_commit.
#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/postgres/postgres_store.h"

namespace glim::store {

Result<std::vector<AuditRow>> PostgresStore::Audit(const AuditQuery& wanted) {
  std::vector<AuditRow> found;
  const auto most = std::min(wanted.limit, kHistoryMax);
  const auto from = std::min<std::uint64_t>(wanted.after, std::numeric_limits<std::int64_t>::max());
  const Status status = session_.Run("read the audit trail", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction query(connection);
    std::int64_t first = 0;
    if (wanted.since.ms > 0) {
      const pqxx::result since = query.exec_prepared("audit_since", wanted.since.ms);
      if (since.empty()) return Status::Ok();
      first = since[0][0].as<std::int64_t>();
    }
    const pqxx::result rows = wanted.user.empty()
                                  ? query.exec_prepared("audit", from, first, most)
                                  : query.exec_prepared("audit_of_user", from, first, most, wanted.user);
    for (const pqxx::row& row : rows) {
      AuditRow columns;
      columns.seq = row[0].as<std::uint64_t>();
      columns.at = TimePoint{row[1].as<std::int64_t>()};
      columns.user = row[2].as<std::string>();
      columns.hash = row[4].as<std::string>();
      auto decoded = DecodeAudit(std::move(columns), row[3].as<std::string>());
      if (!decoded.ok()) return decoded.status();
      found.push_back(std::move(decoded).value());
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Result<AuditEnd> PostgresStore::LastAudit() {
  AuditEnd end;
  const Status status = session_.Run("read the end of the audit trail", [&](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    const pqxx::result rows = query.exec_prepared("last_audit");
    if (!rows.empty()) end = {rows[0][0].as<std::uint64_t>(), rows[0][1].as<std::string>()};
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return end;
}

namespace {

AuditEnd BaseOf(pqxx::transaction_base& query) {
  return {query.exec_prepared1("get_meta", "audit_base_seq")[0].as<std::uint64_t>(),
          query.exec_prepared1("get_meta", "audit_base_hash")[0].as<std::string>()};
}

}  // namespace

Result<AuditEnd> PostgresStore::AuditBase() {
  AuditEnd base;
  const Status status = session_.Run("read where the audit trail begins", [&](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    base = BaseOf(query);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return base;
}

Result<std::size_t> PostgresStore::PruneAudit(std::uint64_t epoch, TimePoint before) {
  std::size_t gone = 0;
  // Repeated after a lost answer it deletes the next ones: the count is of the last run.
  const Status status = RunFenced("prune the audit trail", epoch, [&](pqxx::work& transaction) {
    gone = 0;
    const AuditEnd base = BaseOf(transaction);
    const pqxx::result last = transaction.exec_prepared("last_audit");
    const pqxx::result old = transaction.exec_prepared("audit_before", before.ms);
    if (last.empty() || old.empty()) return;
    const std::uint64_t upto = std::min(
        {old[0][0].as<std::uint64_t>(), last[0][0].as<std::uint64_t>() - 1, base.seq + std::uint64_t{kPruneMax}});
    if (upto <= base.seq) return;
    const pqxx::result whole = transaction.exec_prepared("audit_hash", base.seq, upto);
    if (whole.empty()) return;  // a row is missing: that is to be seen
    transaction.exec_prepared0("prune_audit", upto);
    transaction.exec_prepared0("set_meta", "audit_base_seq", std::to_string(upto));
    transaction.exec_prepared0("set_meta", "audit_base_hash", whole[0][0].as<std::string>());
    gone = static_cast<std::size_t>(upto - base.seq);
  });
  if (!status.ok()) return status;
  return gone;
}

}  // namespace glim::store
