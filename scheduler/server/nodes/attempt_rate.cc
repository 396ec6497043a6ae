#include "scheduler/server/nodes/attempt_rate.h"

#include <algorithm>

namespace glim::server {

void AttemptRate::Fill(Bucket* bucket, std::int64_t burst, std::int64_t per_second, TimePoint now) {
  const std::int64_t full = burst * 1000;
  // One that was never used is full; so much time that it would overflow fills it, too.
  const std::int64_t ms = bucket->at ? std::min<std::int64_t>((now - bucket->at).ms, full) : full;
  bucket->left_milli = std::min(full, bucket->left_milli + std::max<std::int64_t>(0, ms) * per_second);
  bucket->at = now;
}

bool AttemptRate::Take(const std::string& who, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto known = each_.find(who);
  Bucket own = known == each_.end() ? Bucket() : known->second;
  Fill(&own, bounds_.each_burst, 1, now);
  if (own.left_milli < 1000) return false;
  Fill(&all_, bounds_.all_burst, bounds_.all_per_second, now);
  if (all_.left_milli < 1000) return false;
  all_.left_milli -= 1000;
  own.left_milli -= 1000;
  each_[who] = own;
  if (each_.size() > forget_at_) Forget(now);
  return true;
}

void AttemptRate::Forget(TimePoint now) {
  std::erase_if(each_, [&](const auto& row) {
    Bucket bucket = row.second;
    Fill(&bucket, bounds_.each_burst, 1, now);
    return bucket.left_milli == bounds_.each_burst * 1000;
  });
  forget_at_ = std::max<std::size_t>(4'096, each_.size() * 2);
}

std::size_t AttemptRate::rows() const {
  const std::lock_guard lock(mutex_);
  return each_.size();
}

}  // namespace glim::server
