#include "scheduler/server/clients/history_listing.h"

#include <charconv>
#include <string>
#include <string_view>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/event_convert.h"
#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/page_token.h"
#include "scheduler/server/convert/unknown_word.h"

namespace glim::server {
namespace {

constexpr std::string_view kTokenForm = "2.";

// Of the filters, the age among them: with others a token would go on in the middle of another list.
std::string MarkOf(const v1::ListHistoryRequest& request) {
  return std::to_string(FilterMark({request.user(), request.state(), std::to_string(request.max_age_ms()),
                                    request.pool(), request.team(), request.priority(), request.name()}));
}

std::string TokenOf(const v1::EndedJob& last, const std::string& mark) {
  return std::string(kTokenForm) + std::to_string(last.ended_at_ms()) + "." + std::to_string(last.id()) + "." + mark;
}

Status ReadToken(const std::string& token, const std::string& mark, store::EndedJobsQuery* query) {
  const char* const end = token.data() + token.size();
  const auto bad =
      InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
  if (!token.starts_with(kTokenForm)) return bad;
  const auto time = std::from_chars(token.data() + kTokenForm.size(), end, query->before_at.ms);
  if (time.ec != std::errc() || time.ptr == end || *time.ptr != '.') return bad;
  const auto id = std::from_chars(time.ptr + 1, end, query->before_id.value);
  if (id.ec != std::errc() || id.ptr == end || *id.ptr != '.') return bad;
  if (std::string_view(id.ptr + 1, end) == mark) return Status::Ok();
  return InvalidArgument("page_token", "was given for other filters",
                         "send the filters of the first page with it, or list again from the beginning");
}

}  // namespace

Result<store::EndedJobsQuery> HistoryQueryOf(const v1::ListHistoryRequest& request, TimePoint now) {
  store::EndedJobsQuery query;
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  const std::string& state = request.state();
  const auto known = core::FromWord<core::JobState>(state);
  if (!state.empty() && !(known && core::IsTerminal(*known))) {
    return InvalidArgument("state", "'" + state.substr(0, 32) + "' is none in which a job ends",
                           "use succeeded, failed or cancelled, or leave it out");
  }
  if (request.max_age_ms() < 0) return InvalidArgument("max_age_ms", "is negative", "use 0 for all that are kept");
  if (!request.priority().empty()) {
    const auto priority = core::FromWord<core::PriorityClass>(request.priority());
    if (!priority || *priority == core::PriorityClass::kAuto) {
      return UnknownWord<core::PriorityClass>("priority", request.priority(), "priority class",
                                              core::PriorityClass::kAuto);
    }
  }
  query.user = request.user();
  query.pool = request.pool();
  query.team = request.team();
  query.priority = request.priority();
  query.name = request.name();
  query.state = state;
  if (request.max_age_ms() > 0) query.since = now - Duration{request.max_age_ms()};
  query.limit = request.page_size() == 0 ? kPageDefault : request.page_size();
  if (request.page_token().empty()) return query;
  if (Status s = ReadToken(request.page_token(), MarkOf(request), &query); !s.ok()) return s;
  return query;
}

Result<v1::ListHistoryResponse> ListHistory(store::HistoryReader& store, const v1::ListHistoryRequest& request,
                                            const store::EndedJobsQuery& query) {
  store::EndedJobsQuery one_more = query;
  ++one_more.limit;
  auto jobs = store.EndedJobs(one_more);
  if (!jobs.ok()) return jobs.status();
  v1::ListHistoryResponse response;
  std::size_t bytes = 0;
  for (const store::EndedJob& job : *jobs) {
    const auto shown = static_cast<std::size_t>(response.jobs_size());
    if (shown == query.limit || bytes > kPageBytesMax) {
      response.set_next_page_token(TokenOf(response.jobs(response.jobs_size() - 1), MarkOf(request)));
      break;
    }
    EndedJobToProto(job, response.add_jobs());
    bytes += response.jobs(response.jobs_size() - 1).ByteSizeLong();
  }
  return response;
}

}  // namespace glim::server
