// A store for tests of the strand: a memory store that is away, full or slow on command.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/memory/memory_store.h"

namespace glim::server {

// A store that fails or stands still when told to.
class ObedientStore final : public store::Store {
 public:
  struct Orders {
    std::mutex mutex;
    std::condition_variable changed;
    bool hold = false;
    bool held = false;  // a commit stands still
    Status fail;
    int commits = 0;
  };
  explicit ObedientStore(std::shared_ptr<Orders> orders, std::shared_ptr<store::MemoryData> data)
      : orders_(std::move(orders)), store_(std::move(data)) {}

  Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) override { return store_.AcquireEpoch(at_least); }
  Result<std::uint64_t> NewestEpoch() override { return store_.NewestEpoch(); }
  Result<std::unique_ptr<core::ClusterState>> Load() override { return store_.Load(); }
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                const std::vector<store::EndedJob>& ended, const std::vector<store::AuditRow>& audit) override {
    std::unique_lock lock(orders_->mutex);
    orders_->held = orders_->hold;
    orders_->changed.notify_all();
    orders_->changed.wait(lock, [&] { return !orders_->hold; });
    orders_->held = false;
    ++orders_->commits;
    return orders_->fail.ok() ? store_.Commit(epoch, mutations, ended, audit) : orders_->fail;
  }
  Result<std::vector<store::AuditRow>> Audit(const store::AuditQuery& query) override {
    std::lock_guard lock(orders_->mutex);
    return store_.Audit(query);
  }
  Result<store::AuditEnd> LastAudit() override {
    std::lock_guard lock(orders_->mutex);
    return store_.LastAudit();
  }
  Result<store::AuditEnd> AuditBase() override {
    std::lock_guard lock(orders_->mutex);
    return store_.AuditBase();
  }
  Result<std::size_t> PruneAudit(std::uint64_t epoch, TimePoint before) override {
    std::lock_guard lock(orders_->mutex);
    return store_.PruneAudit(epoch, before);
  }
  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override {
    std::lock_guard lock(orders_->mutex);
    return store_.History(query);
  }
  Result<std::uint64_t> LastHistory() override {
    std::lock_guard lock(orders_->mutex);
    return store_.LastHistory();
  }
  Result<std::vector<store::EndedJob>> EndedJobs(const store::EndedJobsQuery& query) override {
    std::lock_guard lock(orders_->mutex);
    return store_.EndedJobs(query);
  }
  Status EachEnded(const store::EndedFiguresQuery& query,
                   const std::function<void(const store::EndedFigures&)>& each) override {
    std::lock_guard lock(orders_->mutex);
    return store_.EachEnded(query, each);
  }
  Result<std::size_t> TrimHistory(std::uint64_t epoch, const store::HistoryBounds& bounds) override {
    std::lock_guard lock(orders_->mutex);
    return store_.TrimHistory(epoch, bounds);
  }
  Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) override {
    std::lock_guard lock(orders_->mutex);
    return store_.PruneHistory(epoch, before);
  }
  Status PutLogTails(std::uint64_t epoch, const std::vector<store::LogTail>& tails) override {
    return store_.PutLogTails(epoch, tails);
  }
  Result<std::optional<store::LogTail>> FindLogTail(core::JobId job, std::uint32_t attempt,
                                                    std::uint32_t rank) override {
    return store_.FindLogTail(job, attempt, rank);
  }
  Result<std::vector<store::LogTailKey>> LogTailsSince(TimePoint since) override { return store_.LogTailsSince(since); }
  Result<std::size_t> TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) override {
    return store_.TrimLogTails(epoch, before, bytes_max);
  }
  Result<std::string> Mark(const std::string& name) override { return store_.Mark(name); }
  Status ResetEpoch(std::uint64_t epoch, std::uint64_t to) override { return store_.ResetEpoch(epoch, to); }
  Status PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) override {
    return store_.PutMark(epoch, name, mark);
  }
  Result<std::string> ClusterId(const std::string& if_new) override { return store_.ClusterId(if_new); }
  const char* name() const override { return "obedient"; }

 private:
  std::shared_ptr<Orders> orders_;
  store::MemoryStore store_;
};

}  // namespace glim::server
