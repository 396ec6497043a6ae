#include "scheduler/server/clients/job_listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/page_token.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/convert/unknown_word.h"
#include "scheduler/server/door/private_parts.h"

namespace glim::server {
namespace {

using core::JobPlace;

constexpr std::int64_t kPlaceTokenForm = 2;
constexpr std::int64_t kGroups = core::kEndedGroup + 1;

std::string TokenOf(const JobPlace& place, std::int64_t mark) {
  std::string token = std::to_string(kPlaceTokenForm);
  for (const std::int64_t part : {place.group, place.less_urgent, place.not_swap_aborted, place.time, place.id, mark}) {
    token += "." + std::to_string(part);
  }
  return token;
}

Result<JobPlace> PlaceFromToken(const std::string& token, std::int64_t mark) {
  std::int64_t parts[7] = {};
  const char* at = token.data();
  const char* const end = at + token.size();
  for (int i = 0; i < 7; ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    const bool last = i == 6;
    if (i == 0 && error == std::errc() && parts[0] != kPlaceTokenForm) {
      return InvalidArgument("page_token", "is of another version", "list again from the beginning");
    }
    if (error != std::errc() || (last ? next != end : next == end || *next != '.')) {
      return InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
    }
    at = next + (last ? 0 : 1);
  }
  if (parts[6] != mark) {
    return InvalidArgument("page_token", "was given for other filters",
                           "send the filters of the first page with it, or list again from the beginning");
  }
  return JobPlace{parts[1], parts[2], parts[3], parts[4], parts[5]};
}

// What a request asks for, checked.
struct Filter {
  std::array<bool, 16> states{};  // by JobState; with any_state all
  bool any_state = true;
  std::array<bool, kGroups> groups{true, true, true, false};
  std::optional<core::PriorityClass> priority;
  std::string user, pool, team, name;
  std::int64_t mark = 0;

  bool Takes(const core::Job& job) const {
    return (any_state || states[static_cast<std::size_t>(job.state)]) && (!priority || job.priority == *priority) &&
           (team.empty() || job.team == team) && (pool.empty() || job.spec->pool == pool) &&
           (name.empty() || job.spec->name.find(name) != std::string::npos);
  }
};

std::int64_t GroupOf(core::JobState state) {
  if (core::IsTerminal(state)) return core::kEndedGroup;
  return state == core::JobState::kQueued ? 1 : state == core::JobState::kHeld ? 2 : 0;
}

Result<Filter> FilterOf(const v1::ListJobsRequest& request, const Caller& caller) {
  Filter filter;
  filter.user = caller.IsJob() && request.user().empty() ? caller.user : request.user();
  filter.pool = request.pool();
  filter.team = request.team();
  filter.name = request.name();
  filter.groups[core::kEndedGroup] = request.all();
  std::string words;
  for (const std::string& word : request.states()) {
    const auto state = core::FromWord<core::JobState>(word);
    if (!state) return UnknownWord<core::JobState>("states", word, "state of a job");
    if (filter.any_state) filter.groups = {};
    filter.any_state = false;
    filter.states[static_cast<std::size_t>(*state)] = true;
    filter.groups[static_cast<std::size_t>(GroupOf(*state))] = true;
    words += word + ",";
  }
  if (!request.priority().empty()) {
    filter.priority = core::FromWord<core::PriorityClass>(request.priority());
    if (!filter.priority || *filter.priority == core::PriorityClass::kAuto) {
      return UnknownWord<core::PriorityClass>("priority", request.priority(), "priority class",
                                              core::PriorityClass::kAuto);
    }
  }
  filter.mark = FilterMark(
      {request.all() ? "all" : "", filter.user, words, filter.pool, filter.team, request.priority(), filter.name});
  return filter;
}

// The jobs of a page, and where the next one goes on.
struct Found {
  std::vector<const core::Job*> jobs;
  std::optional<JobPlace> next;  // behind this place; none: there is no more
};

class Scan {
 public:
  Scan(const core::Tables& tables, const Filter& filter, const Caller& caller, std::size_t page)
      : tables_(tables), filter_(filter), caller_(caller), page_(page) {}

  // A group at a time; of one class only where it stands: the list is in the order of group and class.
  Found From(const JobPlace& after) {
    after_ = after;
    for (std::int64_t group = 0; group < kGroups && !found_.next; ++group) {
      if (!filter_.groups[static_cast<std::size_t>(group)] || group < after.group) continue;
      const bool by_class = filter_.priority && group != core::kEndedGroup;
      const std::int64_t less_urgent = by_class ? -static_cast<std::int64_t>(*filter_.priority) : INT64_MIN;
      const JobPlace begin{group, less_urgent, INT64_MIN, INT64_MIN, INT64_MIN};
      Visit(std::max(begin, after), [&](const JobPlace& place, const core::Job& job) {
        if (place.group != group || (by_class && place.less_urgent != less_urgent)) return false;
        return Take(place, job);
      });
    }
    return std::move(found_);
  }

 private:
  template <typename Take>
  void Visit(const JobPlace& from, Take take) {
    if (filter_.user.empty()) return tables_.listed.VisitFrom(from, take);
    tables_.listed_by_user.VisitFrom({filter_.user, from}, [&](const core::UserPlace& at, const core::Job& job) {
      return at.user == filter_.user && take(at.place, job);
    });
  }

  // False: the page is full, or enough jobs have been looked at for one call.
  bool Take(const JobPlace& place, const core::Job& job) {
    if (!(after_ < place)) return true;
    if (found_.jobs.size() == page_ || looked_at_ == kLookedAtMax) {
      found_.next = last_;
      return false;
    }
    ++looked_at_;
    last_ = place;
    if ((!caller_.IsJob() || Owns(caller_, job)) && filter_.Takes(job)) found_.jobs.push_back(&job);
    return true;
  }

  const core::Tables& tables_;
  const Filter& filter_;
  const Caller& caller_;
  const std::size_t page_;
  JobPlace after_, last_;
  std::size_t looked_at_ = 0;
  Found found_;
};

}  // namespace

Result<v1::ListJobsResponse> ListJobs(const Snapshot& snapshot, const v1::ListJobsRequest& request,
                                      const Caller& caller, TimePoint now) {
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  const std::size_t page = request.page_size() == 0 ? kPageDefault : request.page_size();
  auto filter = FilterOf(request, caller);
  if (!filter.ok()) return filter.status();
  JobPlace after{-1};
  if (!request.page_token().empty()) {
    auto place = PlaceFromToken(request.page_token(), filter->mark);
    if (!place.ok()) return place.status();
    after = *place;
  }
  const Found found = Scan(snapshot.tables, *filter, caller, page).From(after);

  v1::ListJobsResponse response;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < found.jobs.size(); ++i) {
    v1::Job job;
    JobToProto(snapshot, *found.jobs[i], AttemptsShown::kNewest, now, &job);
    if (!HasRight(caller, *found.jobs[i])) RemovePrivateParts(&job);
    bytes += job.ByteSizeLong();
    if (i > 0 && bytes > kPageBytesMax) {
      response.set_next_page_token(TokenOf(core::PlaceOf(*found.jobs[i - 1]), filter->mark));
      return response;
    }
    *response.add_jobs() = std::move(job);
  }
  if (found.next) response.set_next_page_token(TokenOf(*found.next, filter->mark));
  return response;
}

}  // namespace glim::server
