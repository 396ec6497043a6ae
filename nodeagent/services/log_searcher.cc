#include "nodeagent/services/log_searcher.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "nodeagent/task/log_files.h"
#include "sdk/base/line_pages.h"

namespace glim::nodeagent {
namespace {

constexpr int kNice = 10;
constexpr std::size_t kLinesMax = 1000;
constexpr std::size_t kAnswerBytesMax = std::size_t{384} << 10;  // a chunk has 1 MiB at most

void AddTo(LinePage page, std::uint32_t rank, v1::LogFindings* findings) {
  for (FoundText& line : page.lines) {
    v1::FoundLine* const out = findings->add_lines();
    out->set_rank(rank);
    out->set_offset(line.offset);
    out->set_text(std::move(line.text));
    out->set_cut(line.cut);
    out->set_match(line.match);
  }
  findings->set_searched_bytes(findings->searched_bytes() + page.searched_bytes);
}

}  // namespace

std::string BadSearch(const v1::LogRequest& request) {
  const v1::LogQuery& query = request.search();
  if (query.word().empty() || query.word().size() > kLineWordBytesMax) return "word: must have 1 to 256 bytes";
  if (query.context() > kLineContextMax) return "context: must be at most 20 lines";
  if (request.offset() < kFromWhereItBegins) return "offset: must be -1 or more";
  return "";
}

LogSearcher::~LogSearcher() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    ++round_;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool LogSearcher::Post(v1::LogRequest request, std::string folder, Done done) {
  const auto wait = std::chrono::milliseconds(std::clamp<std::int64_t>(request.wait_ms(), 0, kSearchMsMax));
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kSearchesMax) return false;
  waiting_.push_back({std::move(request), std::move(folder), std::move(done), Steady::now() + wait, round_});
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  wake_.notify_all();
  return true;
}

void LogSearcher::Drop() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  ++round_;
  wake_.notify_all();
}

void LogSearcher::Run() {
  (void)::setpriority(PRIO_PROCESS, 0, kNice);  // on Linux: this thread's alone
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    v1::LogChunk chunk = Search(work);
    lock.lock();
    if (work.round != round_) continue;
    boost::asio::post(io_, [this, round = work.round, done = std::move(work.done), chunk = std::move(chunk)]() mutable {
      {
        const std::lock_guard again(mutex_);
        if (round != round_) return;
      }
      done(std::move(chunk));
    });
  }
}

// Waits until so many bytes may be read. False: they may not, in its time.
bool LogSearcher::MayRead(const Work& work, std::size_t bytes) {
  const auto now = Steady::now();
  free_at_ = std::max(free_at_, now);
  if (free_at_ > work.until) return false;
  std::unique_lock lock(mutex_);
  if (wake_.wait_until(lock, free_at_, [&] { return work.round != round_; })) return false;
  if (Steady::now() > work.until) return false;
  free_at_ += std::chrono::nanoseconds(static_cast<std::int64_t>(bytes) * 1'000'000'000 / kSearchBytesPerSecond);
  return true;
}

v1::LogChunk LogSearcher::Search(const Work& work) {
  const v1::LogRequest& request = work.request;
  v1::LogChunk chunk;
  chunk.set_id(request.id());
  v1::LogFindings* const findings = chunk.mutable_findings();
  LineQuery query;
  query.word = request.search().word();
  query.ignore_case = request.search().ignore_case();
  query.newest_first = request.search().newest_first();
  query.context = request.search().context();
  query.offset = request.offset();
  query.lines_max = std::clamp<std::size_t>(request.search().lines_max(), 1, kLinesMax);
  query.bytes_max = kAnswerBytesMax;
  query.go_on = [&](std::size_t bytes) { return MayRead(work, bytes); };
  const std::uint64_t end = std::uint64_t{request.rank()} + std::max(1U, request.ranks());
  for (std::uint64_t rank = request.rank(); rank < end; ++rank, query.offset = kFromWhereItBegins) {
    const auto number = static_cast<std::uint32_t>(rank);
    findings->set_next_rank(number);
    findings->set_next_offset(query.offset);
    const Result<OpenLog> log = OpenLog::Open(LogPath(work.folder, number));
    if (!log.ok() && log.status().code() == StatusCode::kNotFound) {
      findings->set_missing(true);
      return chunk;
    }
    Result<LinePage> page = log.ok() ? SearchLines(*log, query) : log.status();
    if (!page.ok()) {
      chunk.set_error(page.status().message());
      return chunk;
    }
    const LinePage& found = *page;
    const bool done = found.done;
    const std::size_t matches = found.matches, bytes = found.bytes;
    findings->set_next_offset(found.next);
    AddTo(std::move(page).value(), number, findings);
    if (!done) return chunk;
    query.lines_max -= std::min(matches, query.lines_max);
    query.bytes_max -= std::min(bytes, query.bytes_max);
    if ((query.lines_max == 0 || query.bytes_max == 0) && rank + 1 < end) {
      findings->set_next_rank(number + 1);
      findings->set_next_offset(kFromWhereItBegins);
      return chunk;
    }
  }
  findings->set_done(true);
  return chunk;
}

}  // namespace glim::nodeagent
