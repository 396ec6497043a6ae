// A store that forgets: for the simulator and for tests. It keeps rows as coded text, so that a reload goes through the
// same codec as everywhere else.
//
// Sources: memory_store.cc, memory_audit.cc, memory_log_tails.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/store/codec/commit_batch.h"
#include "scheduler/store/contract/store.h"

namespace glim::store {

// What would be the file. Several stores may share one, as a leader and its successor share a database.
struct MemoryData {
  std::uint64_t epoch = 0;
  std::string cluster_id;
  core::PutIds ids{core::JobId{1}, core::NodeId{1}};
  std::map<std::pair<std::string, std::string>, std::string> rows;  // by kind and key
  std::map<std::uint64_t, AuditRow> audit;
  AuditEnd audit_base;
  std::map<std::uint64_t, std::string> history;
  std::uint64_t last_history = 0;
  std::map<core::JobId, std::string> ended_jobs;
  std::map<LogTailKey, LogTail> log_tails;
  std::map<std::string, std::string> marks;
};

class MemoryStore final : public Store {
 public:
  MemoryStore() : MemoryStore(std::make_shared<MemoryData>()) {}
  explicit MemoryStore(std::shared_ptr<MemoryData> data) : data_(std::move(data)) {}

  using Store::AcquireEpoch;
  Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) override {
    return data_->epoch = std::max(data_->epoch + 1, at_least);
  }
  Result<std::uint64_t> NewestEpoch() override { return data_->epoch; }
  Status ResetEpoch(std::uint64_t epoch, std::uint64_t to) override;
  Result<std::unique_ptr<core::ClusterState>> Load() override;
  using Store::Commit;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations, const std::vector<EndedJob>& ended,
                const std::vector<AuditRow>& audit) override;
  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override;
  Result<std::uint64_t> LastHistory() override;
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override;
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) override;
  Result<std::vector<AuditRow>> Audit(const AuditQuery& query) override;
  Result<AuditEnd> LastAudit() override;
  Result<AuditEnd> AuditBase() override;
  Result<std::size_t> PruneAudit(std::uint64_t epoch, TimePoint before) override;
  Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) override;
  Result<std::size_t> TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) override;
  Status PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) override;
  Result<std::optional<LogTail>> FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) override;
  Result<std::vector<LogTailKey>> LogTailsSince(TimePoint since) override;
  Result<std::size_t> TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) override;
  Result<std::string> Mark(const std::string& name) override;
  Status PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) override;
  Result<std::string> ClusterId(const std::string& if_new) override;
  const char* name() const override { return "memory"; }

 private:
  Status CheckAuditIsNew(const std::vector<AuditRow>& audit) const;
  Result<std::vector<EndedJob>> AllEndedJobs() const;  // newest first

  std::shared_ptr<MemoryData> data_;  // never null
};

}  // namespace glim::store
