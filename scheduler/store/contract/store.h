// Store: where the rows live. One interface, one contract test (store_contract_test.cc) for every implementation.
//
// Not thread-safe: the scheduler's strand owns it. No call throws. A commit is all or nothing and durable when it
// returns Ok; a commit under an epoch that is not the newest is refused (kAborted, reason STALE_EPOCH) and changes
// nothing, so that a leader that lost its place cannot write.
//
// A store that is away for a while says kUnavailable, reason STORE_UNREACHABLE. After that from Commit its outcome is
// not known: the same commit is made again, until it succeeds or another error ends it, before any other. A store that
// has no room says kResourceExhausted, reason STORE_FULL: nothing of the commit is stored, reads go on, and the same
// commit is made again when there may be room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/store/contract/audit.h"
#include "scheduler/store/contract/ended_job.h"
#include "scheduler/store/contract/log_tail.h"
#include "scheduler/store/contract/store_limits.h"
#include "sdk/base/result.h"

namespace glim::store {

// Of a mark among a store's own words.
inline std::string MarkKey(const std::string& name) { return "mark." + name; }

// What outlives the rows, for readers. Not thread-safe.
class HistoryReader {
 public:
  virtual ~HistoryReader() = default;

  struct StoredHistory {
    std::uint64_t seq = 0;
    core::HistoryEntry entry;
  };
  // Newest last, at most `limit`, with a sequence number above `after`, from the first entry on that is not older than
  // `since` (entries are written in the order of their time).
  struct HistoryQuery {
    core::JobId job{};    // 0: all
    core::NodeId node{};  // 0: all
    std::uint64_t after = 0;
    TimePoint since{};  // 0: from the beginning
    std::size_t limit = 0;
    bool states = false;    // those of kind states_changed, which are left out else; with `job` and `node` 0
    bool hardware = false;  // what reports on hardware are made of (hardware_history.h); with `job` and `node` 0
  };
  virtual Result<std::vector<StoredHistory>> History(const HistoryQuery& query) = 0;
  virtual Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) = 0;
  // Calls `each` for what reports sum of every such job, in one look at what is stored.
  virtual Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) = 0;
};

class Store : public HistoryReader {
 public:
  // A reader with a connection of its own, for another thread: long reports hold up no commit. Null: this store has
  // none, and its owner's thread reads.
  virtual Result<std::unique_ptr<HistoryReader>> OpenReader() { return std::unique_ptr<HistoryReader>(); }

  // A number greater than any given before, and at least `at_least`: from now on only commits under it are taken.
  virtual Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) = 0;
  Result<std::uint64_t> AcquireEpoch() { return AcquireEpoch(0); }
  // The newest that was given: who has another one leads no more. Reads alone.
  virtual Result<std::uint64_t> NewestEpoch() = 0;

  // A repair, by the holder of the newest epoch: from now on `to` is the newest, and the next one is greater than that.
  // For a store whose epoch is so far ahead that agents obey no leader. STALE_EPOCH: `epoch` is not the newest.
  virtual Status ResetEpoch(std::uint64_t epoch, std::uint64_t to) = 0;

  // Rows and next ids, index included; the soft part of the state is empty.
  virtual Result<std::unique_ptr<core::ClusterState>> Load() = 0;

  // Mutations in order; the later one of the same row wins. `ended` are put into the history's own table and stay there
  // when their jobs are deleted. `audit` goes on where the trail ends: a row whose number is there already refuses all
  // (kInternal, STORE_CONSTRAINT).
  virtual Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                        const std::vector<EndedJob>& ended, const std::vector<AuditRow>& audit) = 0;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations, const std::vector<EndedJob>& ended) {
    return Commit(epoch, mutations, ended, {});
  }
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations) {
    return Commit(epoch, mutations, {}, {});
  }

  // The newest entry's sequence number; 0: there is none.
  virtual Result<std::uint64_t> LastHistory() = 0;

  virtual Result<std::vector<AuditRow>> Audit(const AuditQuery& query) = 0;
  virtual Result<AuditEnd> LastAudit() = 0;
  // The newest row that was deleted: what is there begins behind it. Number 0: none was.
  virtual Result<AuditEnd> AuditBase() = 0;
  // Deletes rows from before then, the oldest first and never the newest of all; bounded work a call, and none where a
  // row is missing. Returns how many went.
  virtual Result<std::size_t> PruneAudit(std::uint64_t epoch, TimePoint before) = 0;

  // Deletes history and ended jobs from before then; bounded work a call. Returns how many went.
  virtual Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) = 0;
  // Deletes the oldest beyond these numbers; bounded work a call. Returns how many went.
  virtual Result<std::size_t> TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) = 0;

  // The ends of logs, all or none; one of the same attempt and rank is replaced. A transaction of its own.
  virtual Status PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) = 0;
  // Of this rank; attempt 0: of the newest that has one.
  virtual Result<std::optional<LogTail>> FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) = 0;
  // Whose attempts ended then or later; at most kHistoryMax, in any order.
  virtual Result<std::vector<LogTailKey>> LogTailsSince(TimePoint since) = 0;
  // Deletes those whose attempts ended before then, and the oldest beyond so many bytes in all (each counts
  // kLogTailRowBytes more than its data); bounded work a call. Returns how many went.
  virtual Result<std::size_t> TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) = 0;

  // How far somebody who follows the history beside the strand has come: a text under a name (one word), kept until the
  // next. Empty: none was put. A transaction of its own.
  virtual Result<std::string> Mark(const std::string& name) = 0;
  virtual Status PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) = 0;

  // Written at the first start, the same for ever: agents of another cluster are refused.
  virtual Result<std::string> ClusterId(const std::string& if_new) = 0;

  virtual const char* name() const = 0;  // "sqlite", "postgres", "memory"
};

}  // namespace glim::store
