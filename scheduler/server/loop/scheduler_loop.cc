#include "scheduler/server/loop/scheduler_loop.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>
#include <variant>

#include "scheduler/server/loop/state_log.h"
#include "scheduler/server/loop/store_away.h"
#include "scheduler/server/loop/store_clock.h"
#include "sdk/base/check.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr std::int64_t kGrowthsPruned = 16;  // the history is pruned when it has grown by this part of its bound

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Status LoopIsStopping() {
  return Status(StatusCode::kUnavailable, "the scheduler is stopping")
      .WithReason("STOPPING")
      .WithFix("try again in a few seconds");
}

bool ChangesMembership(const SchedulerLoop::Payload& what) {
  return std::holds_alternative<core::NodeConnected>(what) || std::holds_alternative<core::NodeDisconnected>(what) ||
         std::holds_alternative<core::NodeRefused>(what) || std::holds_alternative<core::RemoveNode>(what);
}

// Attempts that a batch made.
std::uint32_t StartsOf(const std::vector<core::Mutation>& mutations, const core::Tables& before) {
  std::set<core::AttemptId> made;
  for (const core::Mutation& mutation : mutations) {
    const auto* row = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation);
    if (row && before.attempts.Find((*row)->id) == nullptr) made.insert((*row)->id);
  }
  return static_cast<std::uint32_t>(made.size());
}

void LogOutage(bool began) {
  if (!began) return LogInfo("the outage has ended");
  LogWarning(
      "an outage: so many nodes are silent that none is declared lost fix=\"mend the network, or what keeps their "
      "agents; if they will not come back: glim admin outage resolve\"");
}

// Attempts that this commit ends. One that begins and ends in it had nothing running.
std::vector<core::AttemptId> EndedAttempts(const std::vector<core::Mutation>& mutations, const core::Tables& before) {
  std::vector<core::AttemptId> ended;
  for (const core::Mutation& mutation : mutations) {
    const auto* row = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation);
    if (!row || (*row)->state != core::AttemptState::kEnded) continue;
    const core::Attempt* old = before.attempts.Find((*row)->id);
    const bool again = !ended.empty() && ended.back() == (*row)->id;
    if (old && old->state != core::AttemptState::kEnded && !again) ended.push_back((*row)->id);
  }
  return ended;
}

}  // namespace

SchedulerLoop::SchedulerLoop(Options options, std::unique_ptr<store::Store> store)
    : options_(std::move(options)),
      store_(std::move(store)),
      store_name_(store_->name()),
      policy_(std::make_shared<const core::Policy>(options_.policy)) {}

SchedulerLoop::~SchedulerLoop() { Stop(); }

void SchedulerLoop::Start() {
  GLIM_CHECK(!thread_.joinable(), "started twice");
  serving_ = true;
  boost::asio::post(io_, [this] { Drain(); });
  thread_ = std::thread([this] { io_.run(); });
}

void SchedulerLoop::Stop() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) {
    boost::asio::post(io_, [this] {
      if (held_) RetryHeld();
      bool more = true;
      while (more && !failed_ && !held_) {
        Drain();
        std::lock_guard lock(mutex_);
        more = !inbox_.empty() || !denied_.empty();
      }
      if (held_) GiveUpHeld();
      timer_.cancel();
      retry_timer_.cancel();
      work_.reset();
      io_.stop();
    });
    thread_.join();
  }
  store_.reset();
}

Status SchedulerLoop::Post(Payload what, Done done, std::optional<AuditNote> audit) {
  return Push({std::move(what), std::move(done), true, std::move(audit)});
}

Status SchedulerLoop::PostUnbounded(Payload what, Done done, std::optional<AuditNote> audit) {
  return Push({std::move(what), std::move(done), false, std::move(audit)});
}

Status SchedulerLoop::Push(Item item) {
  bool schedule = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return LoopIsStopping();
    if (item.counted && away_since_) return RefusedWhileAway(away_why_, away_since_, options_.clock());
    if (item.counted && counted_ >= options_.inbox_max) {
      return Status(StatusCode::kResourceExhausted, "the scheduler has more requests waiting than it takes")
          .WithReason("OVERLOADED")
          .WithFix("try again in a few seconds; submit jobs in batches");
    }
    counted_ += item.counted ? 1 : 0;
    posted_ += item.counted ? 0 : 1;
    inbox_.push_back(std::move(item));
    schedule = !std::exchange(scheduled_, true);
  }
  if (schedule) boost::asio::post(io_, [this] { Drain(); });
  return Status::Ok();
}

std::size_t SchedulerLoop::waiting() const {
  std::lock_guard lock(mutex_);
  return inbox_.size();
}

Status SchedulerLoop::Read(std::function<void(store::Store&)> read) {
  std::lock_guard lock(mutex_);
  if (closed_) return LoopIsStopping();
  if (away_since_ && !IsStoreFull(away_why_)) return RefusedWhileAway(away_why_, away_since_, options_.clock());
  if (reads_ >= options_.reads_max) {
    return Status(StatusCode::kResourceExhausted, "too many questions about the history are waiting")
        .WithReason("OVERLOADED")
        .WithFix("try again in a few seconds");
  }
  ++reads_;
  // Under the lock: Stop closes first and posts its own end after it, so this is run before that.
  boost::asio::post(io_, [this, read = std::move(read)] {
    {
      std::lock_guard done(mutex_);
      --reads_;
    }
    read(*store_);
  });
  return Status::Ok();
}

Status SchedulerLoop::WriteBeside(std::function<void(store::Store*)> write) {
  return Read([this, write = std::move(write)](store::Store& store) { write(held_ || failed_ ? nullptr : &store); });
}

Status SchedulerLoop::SetPolicy(core::Policy policy, std::string words, std::optional<core::ChangeAccounts> accounts,
                                Done done, std::optional<AuditNote> audit) {
  auto next = std::make_shared<const core::Policy>(std::move(policy));
  std::lock_guard lock(mutex_);
  if (closed_) return LoopIsStopping();
  // Under the lock, as in Read.
  boost::asio::post(io_, [this, next = std::move(next), words = std::move(words), accounts = std::move(accounts),
                          done = std::move(done), audit = std::move(audit)]() mutable {
    TakePolicy(std::move(next), std::move(words), std::move(accounts), std::move(done), std::move(audit));
  });
  return Status::Ok();
}

// A batch of its own: what came before was decided by the old policy.
void SchedulerLoop::TakePolicy(std::shared_ptr<const core::Policy> policy, std::string words,
                               std::optional<core::ChangeAccounts> accounts, Done done,
                               std::optional<AuditNote> audit) {
  if (failed_ || held_) {
    core::Reply reply;
    reply.status = failed_ ? LoopIsStopping() : RefusedWhileAway(held_->why, held_->now, options_.clock());
    return done(reply);
  }
  const TimePoint now = std::max(options_.clock(), last_now_);
  std::vector<Item> items;
  items.push_back({core::PolicyChanged{std::move(words)}, std::move(done), false, std::move(audit)});
  RefuseWhoMayNoMore(&items);
  if (items.empty()) return Drain();
  policy_ = std::move(policy);
  policy_since_ms_ = now.ms;
  if (accounts) items.insert(items.begin(), {std::move(*accounts), nullptr, false});
  if (RunBatch(std::move(items), false, now)) ArmTimer(now);
}

void SchedulerLoop::FailAsStale(std::uint64_t newer_epoch) {
  boost::asio::post(io_, [this, newer_epoch] {
    Fail(Status(StatusCode::kAborted, "another scheduler leads: the store's epoch is " + std::to_string(newer_epoch) +
                                          ", ours is " + std::to_string(epoch_))
             .WithReason("STALE_EPOCH"),
         {});
  });
}

void SchedulerLoop::Drain() {
  if (failed_ || held_) return;
  const TimePoint now = std::max(options_.clock(), last_now_);
  bool time_passed = false;
  std::vector<Item> items = Take(now, &time_passed);
  RefuseWhoMayNoMore(&items);
  if (!items.empty() || time_passed || AnyDenied()) {
    if (!RunBatch(std::move(items), time_passed, now)) return;
  }
  if (now >= prune_at_) PruneHistory(now);
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    more = scheduled_ && !closed_;
  }
  if (more) boost::asio::post(io_, [this] { Drain(); });
  ArmTimer(now);
}

bool SchedulerLoop::RunBatch(std::vector<Item> items, bool time_passed, TimePoint now) {
  last_now_ = now;
  bool membership = false;
  std::vector<core::Event> events;
  events.reserve(items.size() + 1);
  for (Item& item : items) {
    membership = membership || ChangesMembership(item.what);
    events.push_back({next_seq_++, now, std::move(item.what)});
  }
  if (time_passed) events.push_back({next_seq_++, now, core::TimePassed{}});

  const auto begin = std::chrono::steady_clock::now();
  core::Decided decided;
  decided.result.wake_at = wake_at_;  // of rows of the audit trail alone
  if (!events.empty()) decided = core::Decide(*state_, *policy_, events);
  const double pass = SecondsSince(begin);
  core::DriveResult& result = decided.result;
  const std::uint32_t starts = result.planned ? StartsOf(decided.mutations, snapshot_.load()->tables) : 0;
  result.commit = Commit(std::move(decided.mutations), AuditRows(items, result, now), now);
  if (!result.commit.ok()) {
    Fail(result.commit, std::move(items));
    return false;
  }
  if (result.planned) {
    last_pass_us_ = static_cast<std::int64_t>(pass * 1e6);
    passes_.AddPass({now, last_pass_us_, WokenBy(events), starts});
    if (options_.observer) options_.observer->OnPass(pass);
  }
  if (held_) {
    HoldBatch(std::move(result), std::move(items), membership, now);
    return false;
  }
  FinishBatch(result, std::move(items), membership, now);
  return true;
}

void SchedulerLoop::FinishBatch(const core::DriveResult& result, std::vector<Item> items, bool membership,
                                TimePoint now) {
  wake_at_ = result.wake_at;
  passes_.SetDeadlines(wake_at_, state_->look_again);
  Publish(result, membership, now);

  GLIM_CHECK(result.replies.size() >= items.size(), "every event has a reply");
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].done) items[i].done(result.replies[i]);
  }
  if (!result.sync.empty() && options_.on_sync) options_.on_sync(result.sync);
  if (std::exchange(has_history_, false) && options_.on_history) options_.on_history();
  auto ended = std::exchange(attempts_ended_, {});
  if (!ended.empty() && options_.on_attempts_ended) options_.on_attempts_ended(std::move(ended));
}

// Who is what after this commit, for those who ask later how it was then.
void SchedulerLoop::AddStates(const core::Tables& before, std::vector<core::Mutation>* mutations, TimePoint now) {
  const bool whole = now >= whole_at_;
  auto entries = whole ? WholeState(state_->tables(), now) : StateChanges(before, *mutations, now);
  if (whole) whole_at_ = now + kWholeEvery;
  for (core::HistoryEntry& entry : entries) mutations->emplace_back(std::move(entry));
}

Status SchedulerLoop::Commit(std::vector<core::Mutation> mutations, std::vector<store::AuditRow> audit, TimePoint now) {
  if (mutations.empty() && audit.empty()) return Status::Ok();
  const SnapshotPtr before = snapshot_.load();
  Chronicle chronicle = MakeChronicle(before->tables, mutations);
  if (!mutations.empty()) AddStates(before->tables, &mutations, now);
  has_history_ = chronicle.has_history;
  const auto begin = std::chrono::steady_clock::now();
  Status status = store_->Commit(epoch_, mutations, chronicle.ended, audit);
  commit_seconds_ = SecondsSince(begin);
  if (serving_ && IsStoreAway(status)) {
    held_.emplace(
        Held{std::move(mutations), std::move(chronicle), std::move(audit), {}, {}, false, {}, std::move(status)});
    return Status::Ok();  // as if it were done: what follows from it is held, too
  }
  if (status.ok()) NoteCommitted(mutations);
  return status;
}

void SchedulerLoop::NoteCommitted(const std::vector<core::Mutation>& mutations) {
  ++revision_;
  const SnapshotPtr before = snapshot_.load();
  attempts_ended_ = EndedAttempts(mutations, before->tables);
  passes_.AddCommit(last_now_, static_cast<std::int64_t>(commit_seconds_ * 1e6));
  for (const core::Mutation& mutation : mutations) {
    const auto* const entry = std::get_if<core::HistoryEntry>(&mutation);
    if (entry != nullptr) history_grown_ += std::ssize(entry->text) + 2 * store::kHistoryRowBytes;
  }
  if (history_grown_ > options_.history.bytes_max / kGrowthsPruned) prune_at_ = last_now_;
  if (!options_.observer) return;
  options_.observer->OnCommit(commit_seconds_);
  options_.observer->OnChanged(before->tables, mutations, *policy_);
}

void SchedulerLoop::Publish(const core::DriveResult& result, bool membership, TimePoint now) {
  const SnapshotPtr before = snapshot_.load();
  // Most reports change nothing but when a node was last heard and how far its ranks are: a second's delay there saves
  // a copy a batch.
  const bool liveness_due = membership || now - liveness_at_ >= Seconds(1);
  const bool rows = result.mutations > 0 || revision_ != before->revision;
  const bool same_probes = *before->probing == state_->probing;
  const bool soft = before->verdicts != state_->verdicts || before->outage != state_->outage ||
                    before->leader_since != state_->leader_since || before->policy != policy_ || !same_probes;
  if (!rows && !soft && !liveness_due) return;

  if (before->outage != state_->outage) LogOutage(state_->outage);
  auto next = std::make_shared<Snapshot>();
  next->tables = rows || liveness_due ? state_->tables() : before->tables;  // steps change without a commit
  next->counts = rows ? std::make_shared<const core::StateCounts>(state_->index().counts) : before->counts;
  next->verdicts = state_->verdicts;
  next->policy = policy_;
  next->probing = same_probes ? before->probing : std::make_shared<const core::Probing>(state_->probing);
  next->liveness = liveness_due ? std::make_shared<const LivenessMap>(state_->liveness) : before->liveness;
  next->leader_since = state_->leader_since;
  next->outage = state_->outage;
  next->epoch = epoch_;
  next->revision = revision_;
  next->last_pass_us = last_pass_us_;
  if (liveness_due) liveness_at_ = now;
  snapshot_.store(std::move(next));
}

void SchedulerLoop::ArmTimer(TimePoint now) {
  TimePoint at = prune_at_;
  if (wake_at_ && wake_at_ < at) at = wake_at_;
  if (at == armed_at_) return;
  armed_at_ = at;
  // At least a millisecond: a wake that has not moved on must not spin.
  timer_.expires_after(std::chrono::milliseconds(std::max<std::int64_t>(1, (at - now).ms)));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_at_ = {};
    Drain();
  });
}

void SchedulerLoop::PruneHistory(TimePoint now) {
  history_grown_ = 0;
  const auto gone = store_->PruneHistory(epoch_, now - options_.history_kept);
  const auto trimmed = store_->TrimHistory(epoch_, options_.history);
  const auto audit = store_->PruneAudit(epoch_, now - options_.audit_kept);
  for (const auto& result : {gone, trimmed, audit}) {
    if (!result.ok()) LogWarning("history not pruned error=\"{}\"", result.status().message());
  }
  // Bounded work a call: while there is more, go on soon; else look again in an hour.
  const bool more = (gone.ok() && *gone > 0) || (trimmed.ok() && *trimmed > 0) || (audit.ok() && *audit > 0);
  prune_at_ = now + (more ? Seconds(1) : Hours(1));
  if (!more) NoteClock(epoch_, now, store_.get());
}

void SchedulerLoop::Fail(const Status& status, std::vector<Item> items) {
  if (failed_) return;
  failed_ = true;
  LogCritical("the scheduler cannot go on code={} reason={} error=\"{}\"", static_cast<int>(status.code()),
              status.reason(), status.message());
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    if (held_)
      inbox_.insert(inbox_.begin(), std::move_iterator(held_->items.begin()), std::move_iterator(held_->items.end()));
    for (Item& item : inbox_) items.push_back(std::move(item));
    inbox_.clear();
    denied_.clear();
    counted_ = 0;
  }
  held_.reset();
  core::Reply reply;
  reply.status = Status(StatusCode::kUnavailable, "the scheduler could not store the change: " + status.message())
                     .WithReason(status.reason().empty() ? "STORE_FAILED" : status.reason())
                     .WithFix("try again in a few seconds");
  for (Item& item : items) {
    if (item.done) item.done(reply);
  }
  if (options_.on_fatal) options_.on_fatal(status);
}

}  // namespace glim::server
