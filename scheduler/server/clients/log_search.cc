#include "scheduler/server/clients/log_search.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/page_token.h"
#include "scheduler/server/door/forgotten_job.h"
#include "sdk/base/line_pages.h"
#include "sdk/base/utf8.h"

namespace glim::server {
namespace {

constexpr std::size_t kPageBytes = std::size_t{2} << 20;    // then no agent is asked any more
constexpr std::size_t kTailBytes = std::size_t{384} << 10;  // of what one kept end tells
constexpr int kLinesOfAnswerMax = 1000 * (2 * static_cast<int>(kLineContextMax) + 1);

std::int64_t MarkOf(const v1::SearchLogRequest& request) {
  const std::string rank = request.has_rank() ? std::to_string(request.rank()) : "all";
  return FilterMark({std::to_string(request.job_id()), rank, request.word(), request.ignore_case() ? "i" : "",
                     request.newest_first() ? "n" : ""});
}

Status BadToken() {
  return InvalidArgument("page_token", "is not of this search", "give the next_page_token of an answer to it");
}

}  // namespace

std::string LogSearchToken(const v1::SearchLogRequest& request, const LogPlace& place) {
  return std::to_string(MarkOf(request)) + "." + std::to_string(place.attempt) + "." + std::to_string(place.rank) +
         "." + std::to_string(place.offset);
}

Result<LogPlace> ReadLogSearchToken(const v1::SearchLogRequest& request) {
  LogPlace place{request.attempt(), request.rank(), -1};
  if (request.page_token().empty()) return place;
  std::vector<std::int64_t> numbers;
  const std::string& token = request.page_token();
  for (std::size_t at = 0; at <= token.size() && numbers.size() < 5;) {
    const std::size_t end = std::min(token.find('.', at), token.size());
    std::int64_t number = 0;
    const auto read = std::from_chars(token.data() + at, token.data() + end, number);
    if (read.ec != std::errc() || read.ptr != token.data() + end) return BadToken();
    numbers.push_back(number);
    at = end + 1;
  }
  const auto fits = [](std::int64_t number) { return number >= 0 && number <= UINT32_MAX; };
  if (numbers.size() != 4 || numbers[0] != MarkOf(request) || !fits(numbers[1]) || !fits(numbers[2]) ||
      numbers[3] < -1) {
    return BadToken();
  }
  place = {static_cast<std::uint32_t>(numbers[1]), static_cast<std::uint32_t>(numbers[2]), numbers[3]};
  if (request.has_rank() && place.rank != request.rank()) return BadToken();
  return place;
}

Status CheckLogSearch(const v1::SearchLogRequest& request) {
  if (request.word().empty()) return InvalidArgument("word", "is empty", "give the text to look for");
  if (request.word().size() > kLineWordBytesMax) {
    return InvalidArgument("word", "has " + std::to_string(request.word().size()) + " bytes, at most 256 may be",
                           "look for a part of it");
  }
  if (request.word().find('\n') != std::string::npos) {
    return InvalidArgument("word", "has a line's end in it", "look for a part of one line");
  }
  if (request.context() > kLineContextMax) {
    return InvalidArgument("context", std::to_string(request.context()) + " is too many", "give at most 20 lines");
  }
  return Status::Ok();
}

void LogSearch::Start(const Owner* owner, Call* call, const v1::SearchLogRequest* request,
                      v1::SearchLogResponse* response, const LogPlace& from) {
  const std::shared_ptr<LogSearch> search(new LogSearch(owner, call, request, response, from));
  search->Begin();
}

LogSearch::LogSearch(const Owner* owner, Call* call, const v1::SearchLogRequest* request,
                     v1::SearchLogResponse* response, const LogPlace& from)
    : owner_(owner),
      call_(call),
      request_(*request),
      response_(response),
      until_(std::chrono::steady_clock::now() + owner->time),
      lines_max_(request->page_size() == 0 ? kPageDefault : std::min(request->page_size(), kPageMax)),
      at_(from) {}

void LogSearch::Begin() {
  auto source = FindLogSource(owner_->loop->snapshot()->tables, job(), at_.attempt, at_.rank);
  if (source.ok()) {
    source_ = std::move(source).value();
    at_.attempt = source_.attempt.number;
    end_ = request_.has_rank() ? at_.rank + 1 : source_.ranks();
    return Next();
  }
  const Status& why = source.status();
  const bool forgotten = why.reason() == "NO_SUCH_JOB" || why.reason() == "ATTEMPT_TOO_OLD";
  if (!forgotten) return Refuse(why);
  end_ = at_.rank + 1;  // how many ranks it had nobody knows: of rank 0 the end is always kept
  SearchKept(why);
}

bool LogSearch::HasRoom() const {
  return matches_ < lines_max_ && bytes_ < kPageBytes && std::chrono::steady_clock::now() < until_;
}

void LogSearch::Next() {
  if (at_.rank >= end_) return Finish(true);
  if (owner_->broker->stopping()) return Refuse(Status(StatusCode::kUnavailable, "the scheduler is stopping"));
  if (!HasRoom()) return Finish(false);
  const core::NodeId node = source_.NodeOf(at_.rank);
  if (away_ && away_->first == node) return SearchKept(away_->second);
  const std::uint32_t per_node = source_.ranks_per_node;
  Ask(node, std::min(end_, (at_.rank / per_node + 1) * per_node) - at_.rank);
}

void LogSearch::Ask(core::NodeId node, std::uint32_t ranks) {
  v1::LogRequest ask;
  ask.mutable_attempt()->set_job_id(source_.attempt.job.value);
  ask.mutable_attempt()->set_number(source_.attempt.number);
  ask.set_rank(at_.rank);
  ask.set_ranks(ranks);
  ask.set_offset(at_.offset);
  const auto left = until_ - std::chrono::steady_clock::now();
  ask.set_wait_ms(std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
  v1::LogQuery* const query = ask.mutable_search();
  query->set_word(request_.word());
  query->set_ignore_case(request_.ignore_case());
  query->set_newest_first(request_.newest_first());
  query->set_context(request_.context());
  query->set_lines_max(lines_max_ - matches_);
  owner_->broker->Fetch(node, call_->user(), std::move(ask),
                        [self = shared_from_this(), node, ranks](Result<v1::LogChunk> result) {
                          self->Answered(node, ranks, std::move(result));
                        });
}

void LogSearch::Answered(core::NodeId node, std::uint32_t ranks, Result<v1::LogChunk> result) {
  Status status = result.status();
  if (status.ok() && !result->error().empty()) {
    status = Status(StatusCode::kUnavailable, "node " + NameOf(node) + ": " + result->error().substr(0, 1024))
                 .WithReason("LOG_NOT_SEARCHED")
                 .WithFix("try again in 2 s");
  } else if (status.ok() && !result->has_findings()) {
    status = Status(StatusCode::kFailedPrecondition, "the agent of node " + NameOf(node) + " searches no logs")
                 .WithReason("AGENT_TOO_OLD")
                 .WithFix("bring its agent to the scheduler's release; until then read the log with glim logs");
  }
  if (!status.ok()) {
    away_.emplace(node, status);
    return SearchKept(status);
  }
  const LogPlace before = at_;
  v1::LogFindings findings = std::move(*result->mutable_findings());
  if (const Status wrong = Take(&findings, ranks); !wrong.ok()) return Refuse(wrong);
  if (findings.missing()) {
    return SearchKept(Status(StatusCode::kNotFound, source_.live ? "it has written nothing yet, or its log was pruned"
                                                                 : "its node has the log no more")
                          .WithReason("NO_LOG"));
  }
  const bool stands = at_.rank == before.rank && at_.offset == before.offset;
  if (stands && !findings.done()) return Finish(false);  // it had no time
  Next();
}

// What an agent says is a stranger's word until it has been looked at.
Status LogSearch::Take(v1::LogFindings* findings, std::uint32_t ranks) {
  const std::uint32_t end = at_.rank + ranks;
  bool bad = findings->lines_size() > kLinesOfAnswerMax;
  if (!findings->done()) {
    bad = bad || findings->next_rank() < at_.rank || findings->next_rank() >= end || findings->next_offset() < -1;
  }
  for (v1::FoundLine& line : *findings->mutable_lines()) {
    bad = bad || line.rank() < at_.rank || line.rank() >= end;
    if (bad) break;
    matches_ += line.match() ? 1 : 0;
    bytes_ += line.ByteSizeLong();
    *response_->add_lines() = std::move(line);
  }
  if (bad) {
    return Status(StatusCode::kDataLoss,
                  "the agent of node " + NameOf(source_.NodeOf(at_.rank)) + " answered about another part of the log");
  }
  response_->set_searched_bytes(response_->searched_bytes() + std::max<std::int64_t>(0, findings->searched_bytes()));
  at_ = findings->done() ? LogPlace{at_.attempt, end, -1}
                         : LogPlace{at_.attempt, findings->next_rank(), findings->next_offset()};
  return Status::Ok();
}

void LogSearch::SearchKept(const Status& why) {
  // Of other ranks nothing is kept, and of an attempt that lives nothing yet.
  const bool known = !source_.nodes.empty();
  const bool kept = !source_.live && (at_.rank == 0 || !known || std::int64_t{at_.rank} == source_.failed_rank);
  if (!kept) return FoundKept(std::optional<store::LogTail>(), true, why);
  const bool has_row = owner_->loop->snapshot()->tables.jobs.Find(job()) != nullptr;  // then the door has looked
  const Status asked = owner_->loop->Read([self = shared_from_this(), has_row, why](store::Store& store) {
    const bool theirs = has_row || MaySeeForgotten(self->call_->caller(), self->job(), store);
    auto tail = store.FindLogTail(self->job(), self->at_.attempt, self->at_.rank);
    self->owner_->strand->Post(
        [self, tail = std::move(tail), theirs, why]() mutable { self->FoundKept(std::move(tail), theirs, why); });
  });
  if (!asked.ok()) Refuse(asked);
}

void LogSearch::FoundKept(Result<std::optional<store::LogTail>> kept, bool theirs, const Status& why) {
  if (!kept.ok()) return Refuse(kept.status());
  if (*kept && !theirs) {
    call_->Deny(NotYours(job(), call_->caller()), "job " + std::to_string(job().value));
    return;
  }
  const std::string node = source_.nodes.empty() ? "" : NameOf(source_.NodeOf(at_.rank));
  if (*kept) {
    AddGap((*kept)->node, why, true);
    return SearchTail(**kept);
  }
  const bool alone = request_.has_rank() || source_.nodes.empty();
  if (alone) return Refuse(why);
  AddGap(node, why, false);
  NextRank();
}

void LogSearch::SearchTail(const store::LogTail& tail) {
  at_.attempt = tail.attempt.number;
  LineQuery query;
  query.word = request_.word();
  query.ignore_case = request_.ignore_case();
  query.newest_first = request_.newest_first();
  query.context = request_.context();
  query.offset = at_.offset;
  query.lines_max = lines_max_ - matches_;
  query.bytes_max = kTailBytes;
  auto page = SearchLines(TextLines(tail.data, tail.offset), query);
  if (!page.ok()) return Refuse(page.status());
  for (FoundText& line : page->lines) {
    v1::FoundLine* const out = response_->add_lines();
    out->set_rank(at_.rank);
    out->set_offset(line.offset);
    out->set_text(std::move(line.text));
    out->set_cut(line.cut);
    out->set_match(line.match);
    bytes_ += out->ByteSizeLong();
  }
  matches_ += static_cast<std::uint32_t>(page->matches);
  response_->set_searched_bytes(response_->searched_bytes() + page->searched_bytes);
  if (page->done) return NextRank();
  at_.offset = page->next;
  Finish(false);
}

// Ranks of one node that fail alike are one gap.
void LogSearch::AddGap(const std::string& node, const Status& why, bool kept_end) {
  auto* const gaps = response_->mutable_gaps();
  if (!gaps->empty()) {
    v1::LogGap& last = *gaps->rbegin();
    const bool same = last.node() == node && last.why() == why.message() && last.kept_end() == kept_end;
    if (same && last.rank() + last.ranks() == at_.rank) return last.set_ranks(last.ranks() + 1);
  }
  v1::LogGap* const gap = gaps->Add();
  gap->set_rank(at_.rank);
  gap->set_ranks(1);
  gap->set_node(node);
  gap->set_why(why.message());
  gap->set_kept_end(kept_end);
  bytes_ += gap->ByteSizeLong();
}

void LogSearch::NextRank() {
  ++at_.rank;
  at_.offset = -1;
  Next();
}

void LogSearch::Finish(bool done) {
  response_->set_attempt(at_.attempt);
  if (!done) response_->set_next_page_token(LogSearchToken(request_, at_));
  call_->Answer(Status::Ok(), response_);
}

std::string LogSearch::NameOf(core::NodeId id) const {
  const SnapshotPtr snapshot = owner_->loop->snapshot();
  const core::Node* const node = snapshot->tables.nodes.Find(id);
  return node ? node->name : "that was removed";
}

}  // namespace glim::server
