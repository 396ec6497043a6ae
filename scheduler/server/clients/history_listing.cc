#include "scheduler/server/clients/history_listing.h"

#include <charconv>
#include <string>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/event_convert.h"
#include "scheduler/server/convert/page_limits.h"

namespace glim::server {
namespace {

constexpr char kTokenForm[] = "1.";

std::string TokenOf(const v1::EndedJob& last) {
  return kTokenForm + std::to_string(last.ended_at_ms()) + "." + std::to_string(last.id());
}

Status ReadToken(const std::string& token, store::EndedJobsQuery* query) {
  const char* const end = token.data() + token.size();
  const auto bad =
      InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
  if (!token.starts_with(kTokenForm)) return bad;
  const auto time = std::from_chars(token.data() + 2, end, query->before_at.ms);
  if (time.ec != std::errc() || time.ptr == end || *time.ptr != '.') return bad;
  const auto id = std::from_chars(time.ptr + 1, end, query->before_id.value);
  return id.ec == std::errc() && id.ptr == end ? Status::Ok() : bad;
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
  query.user = request.user();
  query.state = state;
  if (request.max_age_ms() > 0) query.since = now - Duration{request.max_age_ms()};
  query.limit = request.page_size() == 0 ? kPageDefault : request.page_size();
  if (request.page_token().empty()) return query;
  if (Status s = ReadToken(request.page_token(), &query); !s.ok()) return s;
  return query;
}

Result<v1::ListHistoryResponse> ListHistory(store::Store& store, const store::EndedJobsQuery& query) {
  store::EndedJobsQuery one_more = query;
  ++one_more.limit;
  auto jobs = store.EndedJobs(one_more);
  if (!jobs.ok()) return jobs.status();
  v1::ListHistoryResponse response;
  std::size_t bytes = 0;
  for (const store::EndedJob& job : *jobs) {
    const auto shown = static_cast<std::size_t>(response.jobs_size());
    if (shown == query.limit || bytes > kPageBytesMax) {
      response.set_next_page_token(TokenOf(response.jobs(response.jobs_size() - 1)));
      break;
    }
    EndedJobToProto(job, response.add_jobs());
    bytes += response.jobs(response.jobs_size() - 1).ByteSizeLong();
  }
  return response;
}

}  // namespace glim::server
