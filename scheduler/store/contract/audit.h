// The audit trail: who did what, and what came of it, each row chained to the one before by a hash. Append only. Plain;
// the chain is made and checked by scheduler/server/loop/audit_chain.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/base/time.h"

namespace glim::store {

struct AuditRow {
  std::uint64_t seq = 0;  // from 1, without gaps
  TimePoint at;
  std::string user{};   // empty: the scheduler itself, or nobody who could be told
  std::string token{};  // its id; "node:n1" of an agent
  std::string peer{};
  std::string method{};  // "/glim.v1.ClientApi/Cancel"
  std::string object{};  // "job 7", "node n1", "user kim"
  std::string before{};
  std::string after{};
  std::string outcome{};  // "ok", or the reason of the refusal
  std::string hash{};     // 64 hexadecimal digits, over the hash of the row before and this row
  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

// The trail's end. Kept elsewhere it shows later that no row at the end was taken away.
struct AuditEnd {
  std::uint64_t seq = 0;  // 0: there is no row
  std::string hash;       // empty then
  friend bool operator==(const AuditEnd&, const AuditEnd&) = default;
};

// Oldest first: rows behind `after`, from the first one on that is not older than `since`.
struct AuditQuery {
  TimePoint since{};   // 0: from the beginning
  std::string user{};  // empty: all
  std::uint64_t after = 0;
  std::size_t limit = 0;  // at most kHistoryMax (store_limits.h)
};

}  // namespace glim::store
