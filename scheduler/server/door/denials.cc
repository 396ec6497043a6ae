#include "scheduler/server/door/denials.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace glim::server {
namespace {

constexpr std::int64_t kMilli = 1'000;
constexpr std::int64_t kFull = DenialRate::kBurst * kMilli;

}  // namespace

void DenialRate::Fill(Row* row, TimePoint now) {
  const std::int64_t passed = std::clamp<std::int64_t>((now - row->filled_at).ms, 0, kFull);  // one a second
  row->tokens_milli = std::min(row->tokens_milli + passed, kFull);
  row->filled_at = now;
}

std::optional<std::uint64_t> DenialRate::Tell(const std::string& peer, const std::string& user, TimePoint now) {
  std::lock_guard lock(mutex_);
  const std::string key = peer + "\n" + user;
  auto at = rows_.find(key);
  if (at == rows_.end()) {
    if (rows_.size() >= kRowsMax) ForgetIdle(now);
    if (rows_.size() < kRowsMax) at = rows_.emplace(key, Row{kFull, now, 0}).first;
  }
  Row* const row = at == rows_.end() ? &others_ : &at->second;
  Fill(row, now);
  if (row->tokens_milli < kMilli) {
    ++row->left_out;
    return std::nullopt;
  }
  row->tokens_milli -= kMilli;
  return std::exchange(row->left_out, 0);
}

// Whoever has not been denied lately, and of whom everything was told, needs no row. Looked for once a second at most:
// in a flood of denials each would walk through all rows.
void DenialRate::ForgetIdle(TimePoint now) {
  if (forgot_at_ && now - *forgot_at_ < Seconds(1)) return;
  forgot_at_ = now;
  for (auto it = rows_.begin(); it != rows_.end();) {
    Fill(&it->second, now);
    it = it->second.tokens_milli == kFull && it->second.left_out == 0 ? rows_.erase(it) : std::next(it);
  }
}

std::size_t DenialRate::rows() const {
  std::lock_guard lock(mutex_);
  return rows_.size();
}

}  // namespace glim::server
