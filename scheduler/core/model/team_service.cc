#include "scheduler/core/model/team_service.h"

#include <algorithm>
#include <array>

namespace glim::core {
namespace {

constexpr std::int64_t kHour = Hours(1).ms;
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

void TeamService::Count(const std::string& team, std::int64_t gpus, TimePoint begin, TimePoint end, bool add) {
  auto& hours = by_hour_[team];
  ForHours(begin, end, [&](std::int64_t hour, std::int64_t ms) {
    std::int64_t& sum = hours[hour];
    sum += add ? gpus * ms : -gpus * ms;
    if (sum == 0) hours.erase(hour);
  });
  if (hours.empty()) by_hour_.erase(team);
}

std::int64_t TeamService::Decayed(const std::string& team, TimePoint now) const {
  const auto it = by_hour_.find(team);
  if (it == by_hour_.end()) return 0;
  const std::int64_t hour_now = now.ms / kHour;
  std::int64_t sum = 0;
  for (auto hour = it->second.lower_bound(hour_now - kHoursKept); hour != it->second.end(); ++hour) {
    sum += Weigh(hour->second, hour_now - hour->first);
  }
  return sum;
}

std::int64_t DecayedSpan(std::int64_t gpus, TimePoint begin, TimePoint end, TimePoint now) {
  std::int64_t sum = 0;
  ForHours(begin, end, [&](std::int64_t hour, std::int64_t ms) { sum += Weigh(gpus * ms, now.ms / kHour - hour); });
  return sum;
}

}  // namespace glim::core
