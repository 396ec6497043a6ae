#include "scheduler/server/clients/history_export.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/page_token.h"
#include "scheduler/server/convert/usage_report.h"
#include "scheduler/server/loop/chronicle.h"

namespace glim::server {
namespace {

using core::Use;

constexpr std::string_view kExportTokenForm = "1.";

std::int64_t UseOf(const core::UseTotals& uses, Use use) { return uses[static_cast<std::size_t>(use)]; }

// Of the times: with others a token would go on in the middle of another list.
std::string ExportMark(const v1::ExportHistoryRequest& request, TimePoint until) {
  return std::to_string(FilterMark({std::to_string(request.since_ms()), std::to_string(until.ms)}));
}

// "1.until.ended_at.id.mark": the pages behind the first end where that one did.
std::string ExportToken(const v1::ExportHistoryRequest& request, TimePoint until, const v1::PastJob& last) {
  return std::string(kExportTokenForm) + std::to_string(until.ms) + "." + std::to_string(last.ended_at_ms()) + "." +
         std::to_string(last.id()) + "." + ExportMark(request, until);
}

struct PageToken {
  TimePoint until;
  TimePoint before_at;
  core::JobId before_id;
  std::string mark;
};

Result<PageToken> ReadExportToken(const std::string& text) {
  const Status bad =
      InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
  if (!text.starts_with(kExportTokenForm)) return bad;
  PageToken token;
  const char* at = text.data() + kExportTokenForm.size();
  const char* const end = text.data() + text.size();
  const auto take = [&](auto* number) {
    const auto [next, error] = std::from_chars(at, end, *number);
    if (error != std::errc() || next == end || *next != '.') return false;
    at = next + 1;
    return true;
  };
  if (!take(&token.until.ms) || !take(&token.before_at.ms) || !take(&token.before_id.value)) return bad;
  token.mark = std::string(at, end);
  return token;
}

TimePoint UntilOf(const v1::ExportHistoryRequest& request, TimePoint now) {
  return request.until_ms() == 0 ? now : TimePoint{request.until_ms()};
}

}  // namespace

Result<store::EndedJobsQuery> ExportQueryOf(const v1::ExportHistoryRequest& request, TimePoint now) {
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  for (const auto& [field, ms] :
       {std::pair("since_ms", request.since_ms()), std::pair("until_ms", request.until_ms())}) {
    if (ms < 0) return InvalidArgument(field, "is negative", "give milliseconds since 1970, or 0");
  }
  store::EndedJobsQuery query;
  query.since = TimePoint{request.since_ms()};
  query.limit = request.page_size() == 0 ? kPageDefault : request.page_size();
  query.before_at = UntilOf(request, now);
  query.before_id = core::JobId{};  // what ended at `until` itself is left out
  if (query.before_at <= query.since) {
    return InvalidArgument("until_ms", "is not after since_ms", "give a time that begins before it ends");
  }
  if (request.page_token().empty()) return query;
  const auto token = ReadExportToken(request.page_token());
  if (!token.ok()) return token.status();
  const bool same_until = request.until_ms() == 0 || request.until_ms() == token->until.ms;
  if (!same_until || token->mark != ExportMark(request, token->until)) {
    return InvalidArgument("page_token", "was given for other times",
                           "send since_ms and until_ms of the first page with it, or begin again");
  }
  query.before_at = token->before_at;
  query.before_id = token->before_id;
  return query;
}

void PastJobOf(const store::EndedJob& job, v1::PastJob* out) {
  out->set_id(job.id.value);
  out->set_user(job.user);
  out->set_team(job.team);
  out->set_pool(job.pool);
  out->set_priority(core::ToString(job.priority));
  out->set_state(core::ToString(job.state));
  out->set_nodes(job.nodes);
  out->set_gpus_per_node(job.gpus_per_node);
  out->set_submitted_at_ms(job.submitted_at.ms);
  out->set_started_at_ms(job.started_at.ms);
  out->set_ended_at_ms(job.ended_at.ms);
  if (job.started_at) {
    out->set_held_ms(std::max<std::int64_t>(0, ((job.ended_at - job.submitted_at) - job.waited).ms));
  }
  std::int64_t held = 0;
  for (const Use use : {Use::kStarting, Use::kRestoring, Use::kProductive, Use::kStopping, Use::kLost}) {
    held += UseOf(job.ledger, use);
  }
  out->set_held_gpu_ms(held);
  out->set_productive_gpu_ms(UseOf(job.ledger, Use::kProductive));
  out->set_restoring_gpu_ms(UseOf(job.ledger, Use::kRestoring));
  out->set_lost_gpu_ms(UseOf(job.ledger, Use::kLost));
  out->set_attempts(job.attempts);
  out->set_interrupts(job.interrupts);
  out->set_restarts(job.restarts);
}

Status ExportEnded(store::HistoryReader& reader, const v1::ExportHistoryRequest& request,
                   const store::EndedJobsQuery& query, v1::ExportHistoryResponse* response) {
  store::EndedJobsQuery one_more = query;
  ++one_more.limit;
  const auto jobs = reader.EndedJobs(one_more);
  if (!jobs.ok()) return jobs.status();
  std::size_t shown = 0;
  std::size_t bytes = response->ByteSizeLong();
  TimePoint until = query.before_at;
  if (!request.page_token().empty()) until = ReadExportToken(request.page_token())->until;
  response->set_until_ms(until.ms);
  const v1::PastJob* last = nullptr;
  for (const store::EndedJob& job : *jobs) {
    if (shown == query.limit || (shown > 0 && bytes > kPageBytesMax)) {
      response->set_next_page_token(ExportToken(request, until, *last));
      break;
    }
    v1::PastJob* const out = response->add_jobs();
    PastJobOf(job, out);
    last = out;
    bytes += out->ByteSizeLong();
    ++shown;
  }
  return Status::Ok();
}

void ExportPresent(const Snapshot& snapshot, TimePoint now, v1::ExportHistoryResponse* response) {
  snapshot.tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    v1::PastNode* const out = response->add_nodes();
    out->set_name(node.name);
    out->set_pool(node.labels.pool);
    out->set_zone(node.labels.zone);
    out->set_leaf(node.labels.leaf);
    out->set_gpus(node.labels.gpu_count);
    out->set_state(core::ToString(node.state));
  });
  std::size_t live = 0;
  std::size_t bytes = response->ByteSizeLong();
  snapshot.tables.jobs.ForEach([&](core::JobId, const core::Job& job) {
    if (core::IsTerminal(job.state)) return;
    if (++live > kLiveExportedMax || bytes > kPageBytesMax) {
      return response->set_live_left_out(response->live_left_out() + 1);
    }
    store::EndedJob so_far = RecordSoFar(snapshot.tables, job, now);
    so_far.ledger = UsesOf(snapshot.tables, job, now);
    v1::PastJob* const out = response->add_jobs();
    PastJobOf(so_far, out);
    out->set_ended_at_ms(0);
    bytes += out->ByteSizeLong();
  });
}

}  // namespace glim::server
