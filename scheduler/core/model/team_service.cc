#include "scheduler/core/model/team_service.h"

#include <algorithm>
#include <array>

namespace glim::core {
namespace {

constexpr std::int64_t kHour = Hours(1).ms;
constexpr std::size_t kSharesMax = 20'000;    // rows: users, each in each of their teams
constexpr std::int64_t kHoursKept = 24 * 14;  // after 14 half-lives a sixteen-thousandth is left
// 65536 x 2^(-i/24).
constexpr std::array<std::int64_t, 24> kFraction = {65536, 63670, 61858, 60097, 58386, 56724, 55109, 53540,
                                                    52016, 50535, 49097, 47699, 46341, 45022, 43740, 42495,
                                                    41285, 40110, 38968, 37858, 36781, 35734, 34716, 33728};

std::int64_t Weigh(std::int64_t gpu_ms, std::int64_t hours_ago) {
  if (hours_ago < 0) hours_ago = 0;
  if (hours_ago >= kHoursKept) return 0;
  return (gpu_ms / 65536 * kFraction[hours_ago % 24] + gpu_ms % 65536 * kFraction[hours_ago % 24] / 65536) >>
         (hours_ago / 24);
}

// Calls visit(hour, milliseconds of it) for each hour that the span touches, of the newest kHoursKept.
template <typename Visit>
void ForHours(TimePoint begin, TimePoint end, Visit visit) {
  const std::int64_t last = end.ms / kHour;
  for (std::int64_t hour = std::max(begin.ms / kHour, last - kHoursKept); hour <= last; ++hour) {
    const std::int64_t ms = std::min(end.ms, (hour + 1) * kHour) - std::max(begin.ms, hour * kHour);
    if (ms > 0) visit(hour, ms);
  }
}

}  // namespace

std::int64_t TeamService::At(const Sum& sum, TimePoint now) { return Weigh(sum.gpu_ms, now.ms / kHour - sum.hour); }

Share TeamService::With(const ShareId& id, std::int64_t gpus, TimePoint begin, TimePoint end) const {
  const auto known = sums_.find(id);
  // A clock that was set back does not make what was before weigh more.
  const TimePoint as_of{known == sums_.end() ? end.ms : std::max(end.ms, known->second.hour * kHour)};
  const std::int64_t before = known == sums_.end() ? 0 : At(known->second, as_of);
  return {id, before + DecayedSpan(gpus, begin, end, as_of), as_of.ms / kHour};
}

std::optional<ShareId> TeamService::Surplus(const ShareId& id) const {
  if (sums_.size() < kSharesMax || sums_.contains(id)) return std::nullopt;
  std::int64_t newest = 0;
  for (const auto& [_, sum] : sums_) newest = std::max(newest, sum.hour);
  const TimePoint now{newest * kHour};
  const auto least = std::min_element(
      sums_.begin(), sums_.end(), [&](const auto& a, const auto& b) { return At(a.second, now) < At(b.second, now); });
  return least->first;
}

void TeamService::Put(const Share& row) { sums_[row.id] = {row.gpu_ms, row.hour}; }

void TeamService::Erase(const ShareId& id) { sums_.erase(id); }

std::int64_t TeamService::Decayed(const std::string& team, TimePoint now) const {
  std::int64_t all = 0;
  for (auto it = sums_.lower_bound({team, ""}); it != sums_.end() && it->first.team == team; ++it) {
    all += At(it->second, now);
  }
  return all;
}

std::int64_t TeamService::Decayed(const ShareId& id, TimePoint now) const {
  const auto known = sums_.find(id);
  return known == sums_.end() ? 0 : At(known->second, now);
}

std::int64_t DecayedSpan(std::int64_t gpus, TimePoint begin, TimePoint end, TimePoint now) {
  std::int64_t sum = 0;
  ForHours(begin, end, [&](std::int64_t hour, std::int64_t ms) { sum += Weigh(gpus * ms, now.ms / kHour - hour); });
  return sum;
}

}  // namespace glim::core
