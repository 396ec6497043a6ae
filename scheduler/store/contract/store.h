// Store: where the rows live. One interface, one contract test (store_contract_test.cc) for every implementation.
//
// Not thread-safe: the scheduler's strand owns it. No call throws. A commit is all or nothing and durable when it
// returns Ok; a commit under an epoch that is not the newest is refused (kAborted, reason STALE_EPOCH) and changes
// nothing, so that a leader that lost its place cannot write.
//
// A store that is away for a while says kUnavailable, reason STORE_UNREACHABLE. After that from Commit its outcome is
// not known: the same commit is made again, until it succeeds or another error ends it, before any other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::store {

class Store {
 public:
  virtual ~Store() = default;

  // A number greater than any given before, and at least `at_least`: from now on only commits under it are taken.
  virtual Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) = 0;
  Result<std::uint64_t> AcquireEpoch() { return AcquireEpoch(0); }
  // The newest that was given: who has another one leads no more. Reads alone.
  virtual Result<std::uint64_t> NewestEpoch() = 0;

  // Rows and next ids, index included; the soft part of the state is empty.
  virtual Result<std::unique_ptr<core::ClusterState>> Load() = 0;

  // Mutations in order; the later one of the same row wins. `ended` are put into the history's own table and stay there
  // when their jobs are deleted.
  virtual Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                        const std::vector<EndedJob>& ended) = 0;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations) {
    return Commit(epoch, mutations, {});
  }

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
  };
  virtual Result<std::vector<StoredHistory>> History(const HistoryQuery& query) = 0;
  // The newest entry's sequence number; 0: there is none.
  virtual Result<std::uint64_t> LastHistory() = 0;
  virtual Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) = 0;

  // Deletes history and ended jobs from before then; bounded work a call. Returns how many went.
  virtual Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) = 0;
  // Deletes the oldest beyond these numbers; bounded work a call. Returns how many went.
  virtual Result<std::size_t> TrimHistory(std::uint64_t epoch, std::size_t entries_max, std::size_t ended_jobs_max) = 0;

  // Written at the first start, the same for ever: agents of another cluster are refused.
  virtual Result<std::string> ClusterId(const std::string& if_new) = 0;

  virtual const char* name() const = 0;  // "sqlite", "postgres", "memory"
};

}  // namespace glim::store
