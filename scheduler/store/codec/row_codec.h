// What has tables of its own, as JSON text and back: history, ended jobs, the audit trail. As in stored_row.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/core/model/history.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/store/contract/audit.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::store {

std::string EncodeHistory(const core::HistoryEntry& row);
std::string EncodeEndedJob(const EndedJob& row);
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

Result<core::HistoryEntry> DecodeHistory(std::uint64_t seq, std::string_view body);
Result<core::HistoryEntry> DecodeHistory(HistoryColumns columns);
Result<EndedJob> DecodeEndedJob(core::JobId id, std::string_view body);

// `row` has what the columns say.
Result<AuditRow> DecodeAudit(AuditRow row, std::string_view body);

// What a text column may hold in every dialect: UTF-8 without NUL.
std::string CleanText(std::string_view text);

}  // namespace glim::store
