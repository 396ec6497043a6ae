// Rows to JSON text and back: the `body` columns of every store. The key (id, job and number ...) is not in the body.
//
// Encoding never fails: text that is not UTF-8 is repaired with U+FFFD, for one odd byte in a message must not stop the
// scheduler. Decoding fails with kDataLoss, naming table, key and field. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/learnt_rows.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/store/contract/audit.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::store {

std::string EncodeJob(const core::Job& row);
std::string EncodeAttempt(const core::Attempt& row);
std::string EncodeTask(const core::Task& row);
std::string EncodeNode(const core::Node& row);
std::string EncodeShare(const core::Share& row);
std::string EncodeLifeTable(const core::LifeTable& row);
std::string EncodeReservation(const core::Reservation& row);
std::string EncodeHistory(const core::HistoryEntry& row);
std::string EncodeEndedJob(const EndedJob& row);
std::string EncodeAccount(const core::AccountRow& row);

std::string EncodeIdentity(const core::IdentityRow& row);
std::string EncodeAudit(const AuditRow& row);  // what is no column

// The history's own columns, for stores that have them: one row of `history`. What is left out of `facts` has its
// default.
struct HistoryColumns {
  std::uint64_t seq = 0;
  std::int64_t at_ms = 0;
  std::string kind{};
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::uint32_t node = 0;
  std::string text{};
  std::string facts{};
};
std::string EncodeHistoryFacts(const core::HistoryFacts& facts);

Result<core::Job> DecodeJob(core::JobId id, std::string_view body);
Result<core::Attempt> DecodeAttempt(core::AttemptId id, std::string_view body);
Result<core::Task> DecodeTask(core::TaskId id, std::string_view body);
Result<core::Node> DecodeNode(core::NodeId id, std::string_view body);
Result<core::Share> DecodeShare(core::ShareId id, std::string_view body);
Result<core::LifeTable> DecodeLifeTable(core::LifeTableId id, std::string_view body);
Result<core::Reservation> DecodeReservation(std::string name, std::string_view body);
Result<core::HistoryEntry> DecodeHistory(std::uint64_t seq, std::string_view body);
Result<core::HistoryEntry> DecodeHistory(HistoryColumns columns);
Result<EndedJob> DecodeEndedJob(core::JobId id, std::string_view body);

// Of the kinds that KeyOf (accounts.h) gives.
Result<core::AccountRow> DecodeAccount(const core::AccountKey& key, std::string_view body);

// Of the kinds that KeyOf (identity.h) gives.
Result<core::IdentityRow> DecodeIdentity(const core::IdentityKey& key, std::string_view body);

// `row` has what the columns say.
Result<AuditRow> DecodeAudit(AuditRow row, std::string_view body);

// What a text column may hold in every dialect: UTF-8 without NUL.
std::string CleanText(std::string_view text);

}  // namespace glim::store
