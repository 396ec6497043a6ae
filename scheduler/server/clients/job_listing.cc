#include "scheduler/server/clients/job_listing.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/door/private_parts.h"

namespace glim::server {
namespace {

using core::JobPlace;

std::string TokenOf(const JobPlace& place) {
  std::string token = "1";  // of this form of token
  for (const std::int64_t part : {place.group, place.less_urgent, place.not_swap_aborted, place.time, place.id}) {
    token += "." + std::to_string(part);
  }
  return token;
}

Result<JobPlace> PlaceFromToken(const std::string& token) {
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
  return JobPlace{parts[1], parts[2], parts[3], parts[4], parts[5]};
}

}  // namespace

Result<v1::ListJobsResponse> ListJobs(const Snapshot& snapshot, const v1::ListJobsRequest& request,
                                      const Caller& caller, TimePoint now) {
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  const std::size_t page = request.page_size() == 0 ? kPageDefault : request.page_size();
  JobPlace after{-1};
  if (!request.page_token().empty()) {
    auto place = PlaceFromToken(request.page_token());
    if (!place.ok()) return place.status();
    after = *place;
  }

  std::vector<const core::Job*> found;  // one more than the page: there are others
  const auto take = [&](const JobPlace& place, const core::Job& job) {
    if (!request.all() && place.group == core::kEndedGroup) return false;
    if (caller.IsJob() && !Owns(caller, job)) return true;
    if (after < place) found.push_back(&job);
    return found.size() <= page;
  };
  const core::Tables& tables = snapshot.tables;
  const std::string& user = caller.IsJob() && request.user().empty() ? caller.user : request.user();
  if (user.empty()) {
    tables.listed.VisitFrom(after, take);
  } else {
    tables.listed_by_user.VisitFrom({user, after}, [&](const core::UserPlace& at, const core::Job& job) {
      return at.user == user && take(at.place, job);
    });
  }
  const std::size_t shown = std::min(page, found.size());

  v1::ListJobsResponse response;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    v1::Job job;
    JobToProto(snapshot, *found[i], AttemptsShown::kNewest, now, &job);
    if (!HasRight(caller, *found[i])) RemovePrivateParts(&job);
    bytes += job.ByteSizeLong();
    if (i > 0 && bytes > kPageBytesMax) {
      response.set_next_page_token(TokenOf(core::PlaceOf(*found[i - 1])));
      return response;
    }
    *response.add_jobs() = std::move(job);
  }
  if (shown < found.size() && shown > 0) response.set_next_page_token(TokenOf(core::PlaceOf(*found[shown - 1])));
  return response;
}

}  // namespace glim::server
