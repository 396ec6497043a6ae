// The audit trail's chain: each row's hash is over the one before and the row itself, so that whoever changes, adds or
// takes away a row in the middle has to make all later rows anew.
//
// Notes become rows on the strand, in the order in which their events were taken in. One thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/contract/audit.h"
#include "sdk/base/status.h"

namespace glim::server {

inline constexpr std::size_t kAuditFieldMax = 4096;  // bytes; longer ones are cut

// What is told of a call. Who posts it says before and after in words that name no secret.
struct AuditNote {
  std::string user{};
  std::string token{};  // its id; "node:n1" of an agent
  std::string peer{};
  std::string method{};
  std::string object{};
  std::string before{};
  std::string after{};
  // Asked on the strand right before the event is applied, when all that came before it counts: whether who asks still
  // may. Its refusal is the event's. Empty: who was let in is in.
  std::function<Status()> still_allowed{};
};

class AuditChain {
 public:
  explicit AuditChain(store::AuditEnd end = {}) : end_(std::move(end)) {}
  // The next row; the chain has gone on to it. What is not printable text is made so, and long fields are cut.
  store::AuditRow Next(AuditNote note, std::string outcome, TimePoint at);
  const store::AuditEnd& end() const { return end_; }

 private:
  store::AuditEnd end_;
};

// What the row's hash must be.
std::string AuditHash(const std::string& before, const store::AuditRow& row);

// Follows the chain through rows that are handed over page by page, oldest first.
class AuditChecker {
 public:
  // `base`: the newest row that went by its age; what is there must go on from it.
  explicit AuditChecker(store::AuditEnd base = {}) : end_(std::move(base)) {}
  // False: the chain is broken, and what comes later says nothing.
  bool Check(const std::vector<store::AuditRow>& page);
  // The row behind end() cannot be read.
  void Break(std::string why);
  std::uint64_t entries() const { return entries_; }
  std::uint64_t broken_at() const { return broken_at_; }  // 0: it holds
  const std::string& why() const { return why_; }
  const store::AuditEnd& end() const { return end_; }

 private:
  store::AuditEnd end_;
  std::uint64_t entries_ = 0;
  std::uint64_t broken_at_ = 0;
  std::string why_;
};

}  // namespace glim::server
