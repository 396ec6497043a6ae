#include "scheduler/server/agents/log_tail_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr int kFetchesMax = 4;
constexpr std::size_t kWaitingMax = 10'000;
constexpr std::size_t kFetchedMax = 16;  // held in memory while they cannot be written
constexpr std::size_t kWritesMax = 4;    // ends of logs in a transaction
constexpr std::uint32_t kPieceBytes = 64 * 1024;
constexpr int kRefusalsMax = 3;
constexpr Duration kPatience = Hours(24);
constexpr Duration kRecoverFrom = Hours(1);
constexpr Duration kRetryMost = Seconds(60);
constexpr Duration kTrimEvery = Hours(1);

// What lies before the first whole line is left out; a line that is longer than all of it stays as it is.
void CutAtLineStart(store::LogTail* tail) {
  if (tail->offset == 0) return;
  const std::size_t end = tail->data.find('\n');
  if (end == std::string::npos || end + 1 == tail->data.size()) return;
  tail->data.erase(0, end + 1);
  tail->offset += static_cast<std::int64_t>(end) + 1;
}

void Append(const v1::LogChunk& chunk, std::size_t bytes_max, store::LogTail* tail) {
  // The first piece, or one after bytes that rotation has dropped meanwhile.
  if (chunk.offset() != tail->offset + static_cast<std::int64_t>(tail->data.size())) {
    tail->data.clear();
    tail->offset = chunk.offset();
  }
  tail->data += chunk.data();
  if (tail->data.size() <= bytes_max) return;
  const std::size_t extra = tail->data.size() - bytes_max;
  tail->data.erase(0, extra);
  tail->offset += static_cast<std::int64_t>(extra);
}

}  // namespace

LogTailKeeper::LogTailKeeper(AgentStrand* strand, LogBroker* broker, SchedulerLoop* loop, const Bounds& bounds)
    : strand_(strand), broker_(broker), loop_(loop), bounds_(bounds), tick_(strand->io()) {}

void LogTailKeeper::Start() {
  const TimePoint since = loop_->Now() - kRecoverFrom;
  const Status asked = loop_->Read([this, since](store::Store& store) {
    strand_->Post([this, keys = store.LogTailsSince(since)] {
      if (!keys.ok()) LogWarning("ends of logs not listed error=\"{}\"", keys.status().message());
      if (keys.ok()) Recover(*loop_->snapshot(), {keys->begin(), keys->end()});
    });
  });
  if (!asked.ok()) LogWarning("ends of logs not listed error=\"{}\"", asked.message());
  strand_->Post([this] { Tick(); });
}

void LogTailKeeper::Recover(const Snapshot& snapshot, const std::set<store::LogTailKey>& stored) {
  const TimePoint since = loop_->Now() - kRecoverFrom;
  snapshot.tables.attempts.ForEach([&](core::AttemptId, const core::Attempt& attempt) {
    const bool ended = attempt.state == core::AttemptState::kEnded && attempt.ended_at >= since;
    if (ended) Queue(snapshot, attempt.id, stored);
  });
  Pump();
}

void LogTailKeeper::AttemptsEnded(std::vector<core::AttemptId> attempts) {
  strand_->Post([this, attempts = std::move(attempts)] {
    const SnapshotPtr snapshot = loop_->snapshot();
    for (const core::AttemptId id : attempts) Queue(*snapshot, id, {});
    Pump();
  });
}

void LogTailKeeper::Stop() {
  stopped_ = true;
  tick_.cancel();
  ready_.clear();
  later_.clear();
}

void LogTailKeeper::Queue(const Snapshot& snapshot, core::AttemptId id, const std::set<store::LogTailKey>& stored) {
  const core::Attempt* attempt = snapshot.tables.attempts.Find(id);
  const core::Job* job = snapshot.tables.jobs.Find(id.job);
  if (stopped_ || !attempt || !job || !attempt->started_at) return;
  std::vector<std::uint32_t> ranks = {0};
  if (attempt->failed_rank > 0) ranks.push_back(static_cast<std::uint32_t>(attempt->failed_rank));
  for (const std::uint32_t rank : ranks) {
    const std::size_t index = rank / job->spec->ranks_per_node();
    if (index >= attempt->nodes.size()) continue;
    const core::Node* node = snapshot.tables.nodes.Find(attempt->nodes[index]);
    if (!node || stored.contains({id, rank})) continue;
    auto wanted = std::make_shared<Wanted>();
    wanted->node = node->id;
    wanted->bytes_max = kLogTailBytesMax / ranks.size();
    wanted->tail = {id, rank, attempt->ended_at, node->name, 0, ""};
    ready_.push_back(std::move(wanted));
  }
  // Whose node has been away for longest goes first.
  while (ready_.size() + later_.size() > kWaitingMax) {
    const WantedPtr oldest = later_.empty() ? ready_.front() : later_.begin()->second;
    later_.empty() ? ready_.pop_front() : static_cast<void>(later_.erase(later_.begin()));
    Drop(*oldest, "too many wait");
  }
}

void LogTailKeeper::Pump() {
  while (!stopped_ && in_flight_ < kFetchesMax && fetched_.size() < kFetchedMax && !ready_.empty()) {
    const WantedPtr wanted = std::move(ready_.front());
    ready_.pop_front();
    ++in_flight_;
    Fetch(wanted);
  }
}

void LogTailKeeper::Fetch(const WantedPtr& wanted) {
  const store::LogTail& tail = wanted->tail;
  const bool begun = !tail.data.empty();
  v1::LogRequest ask;
  ask.mutable_attempt()->set_job_id(tail.attempt.job.value);
  ask.mutable_attempt()->set_number(tail.attempt.number);
  ask.set_rank(tail.rank);
  ask.set_offset(begun ? tail.offset + static_cast<std::int64_t>(tail.data.size())
                       : -static_cast<std::int64_t>(wanted->bytes_max));
  ask.set_bytes_max(kPieceBytes);
  constexpr char kNobody[] = "";  // asks for itself, in nobody's name
  broker_->Fetch(wanted->node, kNobody, std::move(ask),
                 [this, wanted](const Result<v1::LogChunk>& answer) { Fetched(wanted, answer); });
}

void LogTailKeeper::Fetched(const WantedPtr& wanted, const Result<v1::LogChunk>& answer) {
  if (stopped_) return;
  const bool served = answer.ok() && answer->error().empty() && answer->offset() >= 0;
  if (served) {
    if (!answer->data().empty()) Append(*answer, wanted->bytes_max, &wanted->tail);
    if (!answer->data().empty() && !answer->ended()) return Fetch(wanted);
  }
  --in_flight_;
  const bool refused = answer.ok() && (!served || !answer->ended());
  if (!answer.ok() || (refused && ++wanted->refusals < kRefusalsMax)) {
    TryLater(wanted);
  } else if (!served) {
    Drop(*wanted, answer->error());
  } else {
    CutAtLineStart(&wanted->tail);
    fetched_.push_back(std::move(wanted->tail));
    Write();
  }
  Pump();
}

void LogTailKeeper::TryLater(const WantedPtr& wanted) {
  const TimePoint now = loop_->Now();
  if (!loop_->snapshot()->tables.nodes.Find(wanted->node)) return Drop(*wanted, "its node was removed");
  if (now - wanted->tail.ended_at > kPatience) return Drop(*wanted, "its node did not come back");
  wanted->tail.data.clear();
  wanted->tail.offset = 0;
  const Duration pause = std::min(kRetryMost, Seconds(1LL << std::min(wanted->tries++, 6)));
  later_.emplace(now + pause, wanted);
}

// An attempt that stopped before its program was started has no log: that is nothing to report.
void LogTailKeeper::Drop(const Wanted& wanted, const std::string& why) {
  const std::string attempt = core::ToString(wanted.tail.attempt);
  if (wanted.refusals > 0) {
    LogDebug("no end of a log attempt={} rank={} node={} why=\"{}\"", attempt, wanted.tail.rank, wanted.tail.node, why);
  } else {
    LogWarning("the end of a log is not kept attempt={} rank={} node={} why=\"{}\"", attempt, wanted.tail.rank,
               wanted.tail.node, why);
  }
}

void LogTailKeeper::Write() {
  if (stopped_ || writing_ || fetched_.empty() || loop_->Now() < write_at_) return;
  auto tails = std::make_shared<Tails>();
  while (!fetched_.empty() && tails->size() < kWritesMax) {
    tails->push_back(std::move(fetched_.front()));
    fetched_.pop_front();
  }
  writing_ = true;
  const auto write = [this, tails](store::Store* store) {
    const Status status = store ? store->PutLogTails(loop_->epoch(), *tails)
                                : Status(StatusCode::kUnavailable, "a batch is to be written first");
    strand_->Post([this, tails, status] { Written(tails, status); });
  };
  if (const Status asked = loop_->WriteBeside(write); !asked.ok()) {
    strand_->Post([this, tails, asked] { Written(tails, asked); });
  }
}

void LogTailKeeper::Written(const std::shared_ptr<Tails>& tails, const Status& status) {
  writing_ = false;
  if (stopped_) return;
  if (status.code() == StatusCode::kUnavailable || status.reason() == "OVERLOADED") {
    fetched_.insert(fetched_.begin(), std::make_move_iterator(tails->begin()), std::make_move_iterator(tails->end()));
    write_at_ = loop_->Now() + Seconds(1);
    return;
  }
  for (const store::LogTail& tail : *tails) {
    bytes_since_trim_ += static_cast<std::int64_t>(tail.data.size()) + store::kLogTailRowBytes;
    const std::string attempt = core::ToString(tail.attempt);
    if (status.ok()) {
      LogDebug("the end of a log is kept attempt={} rank={} bytes={}", attempt, tail.rank, tail.data.size());
    } else {
      LogWarning("the end of a log is not kept attempt={} rank={} node={} why=\"{}\"", attempt, tail.rank, tail.node,
                 status.message());
    }
  }
  if (bytes_since_trim_ > bounds_.bytes_max / 8) Trim();
  Write();
  Pump();
}

void LogTailKeeper::Trim() {
  if (std::exchange(trimming_, true)) return;
  bytes_since_trim_ = 0;
  const auto trim = [this](store::Store* store) {
    Result<std::size_t> gone = Status(StatusCode::kUnavailable, "a batch is to be written first");
    if (store) gone = store->TrimLogTails(loop_->epoch(), loop_->Now() - bounds_.kept, bounds_.bytes_max);
    strand_->Post([this, gone] { Trimmed(gone); });
  };
  if (const Status asked = loop_->WriteBeside(trim); !asked.ok()) strand_->Post([this, asked] { Trimmed(asked); });
}

void LogTailKeeper::Trimmed(const Result<std::size_t>& gone) {
  trimming_ = false;
  if (!gone.ok()) LogWarning("ends of logs not trimmed error=\"{}\"", gone.status().message());
  // Bounded work a call: while there is more, go on soon.
  trim_at_ = loop_->Now() + (gone.ok() && *gone > 0 ? Seconds(1) : kTrimEvery);
}

// Once a second: what was to be tried later.
void LogTailKeeper::Tick() {
  if (stopped_) return;
  const TimePoint now = loop_->Now();
  while (!later_.empty() && later_.begin()->first <= now) {
    ready_.push_back(later_.begin()->second);
    later_.erase(later_.begin());
  }
  if (now >= trim_at_) Trim();
  Write();
  Pump();
  tick_.expires_after(std::chrono::seconds(1));
  tick_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

}  // namespace glim::server
