#include "scheduler/server/clients/job_listing.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstdint>
#include <vector>

#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

struct Place {
  std::int64_t group = 0;  // live, queued, held, ended
  std::int64_t less_urgent = 0;
  std::int64_t not_swap_aborted = 0;
  std::int64_t time = 0;
  std::int64_t id = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

Place PlaceOf(const core::Job& job) {
  const auto id = static_cast<std::int64_t>(job.id.value);
  if (core::IsTerminal(job.state)) return {3, 0, 0, -job.ended_at.ms, id};
  const std::int64_t less_urgent = -static_cast<std::int64_t>(job.priority);
  const std::int64_t group = job.state == core::JobState::kQueued ? 1 : job.state == core::JobState::kHeld ? 2 : 0;
  return {group, less_urgent, group == 1 && job.swap_aborted ? 0 : 1, job.submitted_at.ms, id};
}

std::string TokenOf(const Place& place) {
  std::string token = "1";  // of this form of token
  for (const std::int64_t part : {place.group, place.less_urgent, place.not_swap_aborted, place.time, place.id}) {
    token += "." + std::to_string(part);
  }
  return token;
}

Result<Place> PlaceFromToken(const std::string& token) {
  std::int64_t parts[6] = {};
  const char* at = token.data();
  const char* const end = at + token.size();
  for (int i = 0; i < 6; ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    const bool last = i == 5;
    if (error != std::errc() || (last ? next != end : next == end || *next != '.')) {
      return InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
    }
    at = next + (last ? 0 : 1);
  }
  if (parts[0] != 1) return InvalidArgument("page_token", "is of another version", "list again from the beginning");
  return Place{parts[1], parts[2], parts[3], parts[4], parts[5]};
}

}  // namespace

Result<v1::ListJobsResponse> ListJobs(const Snapshot& snapshot, const v1::ListJobsRequest& request, TimePoint now) {
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  const std::size_t page = request.page_size() == 0 ? kPageDefault : request.page_size();
  Place after{-1};
  if (!request.page_token().empty()) {
    auto place = PlaceFromToken(request.page_token());
    if (!place.ok()) return place.status();
    after = *place;
  }

  std::vector<std::pair<Place, const core::Job*>> found;
  snapshot.tables.jobs.ForEach([&](core::JobId, const core::Job& job) {
    if (!request.all() && core::IsTerminal(job.state)) return;
    if (!request.user().empty() && job.user != request.user()) return;
    const Place place = PlaceOf(job);
    if (after < place) found.emplace_back(place, &job);
  });
  const std::size_t shown = std::min(page, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end(),
                    [](const auto& a, const auto& b) { return a.first < b.first; });

  v1::ListJobsResponse response;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    v1::Job job;
    JobToProto(snapshot, *found[i].second, AttemptsShown::kNewest, now, &job);
    bytes += job.ByteSizeLong();
    if (i > 0 && bytes > kPageBytesMax) {
      response.set_next_page_token(TokenOf(found[i - 1].first));
      return response;
    }
    *response.add_jobs() = std::move(job);
  }
  if (shown < found.size() && shown > 0) response.set_next_page_token(TokenOf(found[shown - 1].first));
  return response;
}

}  // namespace glim::server
