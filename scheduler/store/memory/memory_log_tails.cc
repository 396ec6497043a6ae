// The ends of logs in memory.
#include <algorithm>
#include <utility>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/memory/memory_store.h"

namespace glim::store {

Status MemoryStore::PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  for (const LogTail& tail : tails) {
    LogTail& kept = data_->log_tails[{tail.attempt, tail.rank}];
    kept = tail;
    kept.node = CleanText(tail.node);
  }
  return Status::Ok();
}

Result<std::optional<LogTail>> MemoryStore::FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) {
  std::optional<LogTail> found;
  for (const auto& [key, tail] : data_->log_tails) {  // attempts in order: the last one is the newest
    const bool wanted = key.attempt.job == job && key.rank == rank;
    if (wanted && (attempt == 0 || key.attempt.number == attempt)) found = tail;
  }
  return found;
}

Result<std::vector<LogTailKey>> MemoryStore::LogTailsSince(TimePoint since) {
  std::vector<LogTailKey> found;
  for (const auto& [key, tail] : data_->log_tails) {
    if (tail.ended_at >= since && found.size() < kHistoryMax) found.push_back(key);
  }
  return found;
}

Result<std::size_t> MemoryStore::TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  std::vector<std::pair<TimePoint, LogTailKey>> by_age;  // oldest first
  std::int64_t bytes = 0;
  for (const auto& [key, tail] : data_->log_tails) {
    by_age.emplace_back(tail.ended_at, key);
    bytes += static_cast<std::int64_t>(tail.data.size()) + kLogTailRowBytes;
  }
  std::sort(by_age.begin(), by_age.end());
  std::size_t gone = 0;
  for (const auto& [ended_at, key] : by_age) {
    if (gone == kLogTailPruneMax || (ended_at >= before && bytes <= bytes_max)) break;
    bytes -= static_cast<std::int64_t>(data_->log_tails.at(key).data.size()) + kLogTailRowBytes;
    data_->log_tails.erase(key);
    ++gone;
  }
  return gone;
}

}  // namespace glim::store
