// Store: where the rows live. One interface, one contract test (store_contract_test.cc) for every implementation.
//
// Not thread-safe: the scheduler's strand owns it. No call throws. A commit is all or nothing and durable when it
// returns Ok; a commit under an epoch that is not the newest is refused (kAborted, reason STALE_EPOCH) and changes
// nothing, so that a leader that lost its place cannot write.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/transition.h"
#include "sdk/base/result.h"

namespace glim::store {

class Store {
 public:
  virtual ~Store() = default;

  // A number greater than any given before: from now on only commits under it are taken.
  virtual Result<std::uint64_t> AcquireEpoch() = 0;

  // Rows and next ids, index included; the soft part of the state is empty.
  virtual Result<std::unique_ptr<core::ClusterState>> Load() = 0;

  // Mutations in order; the later one of the same row wins.
  virtual Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations) = 0;

  // Newest last, at most `limit`, of one job (or of all, for JobId{}) with a sequence number above `after`.
  struct StoredHistory {
    std::uint64_t seq = 0;
    core::HistoryEntry entry;
  };
  virtual Result<std::vector<StoredHistory>> History(core::JobId job, std::uint64_t after, std::size_t limit) = 0;

  // Deletes history from before then; bounded work a call. Returns how many entries went.
  virtual Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) = 0;

  // Written at the first start, the same for ever: agents of another cluster are refused.
  virtual Result<std::string> ClusterId(const std::string& if_new) = 0;

  virtual const char* name() const = 0;  // "sqlite", "postgres", "memory"
};

}  // namespace glim::store
