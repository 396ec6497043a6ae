#include "scheduler/notify/notifier.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "sdk/log/log.h"

namespace glim::notify {
namespace {

constexpr char kMark[] = "notify";
constexpr std::size_t kReadMax = 1000;
constexpr std::uint64_t kMarkEvery = 5000;  // entries that concern nobody
constexpr std::size_t kSkippedMax = 10'000;
constexpr auto kAgain = std::chrono::seconds(1);
constexpr auto kMarkPause = std::chrono::seconds(1);  // each is a transaction
constexpr auto kLook = std::chrono::milliseconds(100);

}  // namespace

Notifier::Notifier(server::SchedulerLoop* loop, Options options)
    : loop_(loop),
      cluster_id_(std::move(options.cluster_id)),
      outbox_(Outbox::Options{std::move(options.send), [loop] { return loop->Now(); }, std::move(options.random),
                              options.retry, options.waiting_max,
                              [this] {
                                std::lock_guard lock(mutex_);
                                progressed_ = true;
                                changed_.notify_all();
                              },
                              [this](const Message& message) { Skipped(message); }},
              &figures_) {
  figures_.oldest_ms = [this] { return outbox_.OldestAge().ms; };
}

void Notifier::Start() {
  woken_ = true;
  // Now: what anybody does from here on comes behind it on the strand.
  if (!loop_->policy()->notify.empty()) asked_begin_ = AskBegin();
  thread_ = std::thread([this] { Run(); });
}

void Notifier::Wake() {
  if (!active_ && loop_->policy()->notify.empty()) return;
  std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Notifier::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  outbox_.Stop();
  if (begun_ && !fenced_) WriteMark();
}

// False: it is to end.
bool Notifier::Await(bool again) {
  std::unique_lock lock(mutex_);
  if (again) {
    changed_.wait_for(lock, kAgain, [this] { return stopping_; });
  } else if (dirty_) {
    changed_.wait_until(lock, mark_at_, [this] { return stopping_ || woken_; });
  } else {
    changed_.wait(lock, [this] { return stopping_ || woken_ || progressed_; });
  }
  woken_ = false;
  dirty_ = std::exchange(progressed_, false) || dirty_;
  return !stopping_ && !fenced_;
}

void Notifier::Run() {
  for (bool again = false; Await(again);) {
    const auto policy = loop_->policy();
    Adopt(policy);
    if (policy->notify.empty()) {
      begun_ = dirty_ = again = false;
      continue;
    }
    again = !begun_ && Begin();
    if (begun_) again = Follow();
    dirty_ = dirty_ || (begun_ && read_ - marked_ >= kMarkEvery);
    if (!begun_ || !dirty_ || std::chrono::steady_clock::now() < mark_at_) continue;
    again = WriteMark() || again;
  }
}

// The policy in force may be a new one.
void Notifier::Adopt(const std::shared_ptr<const core::Policy>& policy) {
  if (policy == policy_) return;
  const bool changed = !policy_ || policy_->notify != policy->notify;
  policy_ = policy;
  active_ = !policy->notify.empty();
  if (!changed) return;
  outbox_.SetTargets(policy->notify);
  const auto check = [&](const std::string& name) {
    const Status status = CheckTarget(TargetOf(policy->notify, name));
    if (!status.ok()) {
      LogWarning("nobody can be notified yet to={} error=\"{}\" fix=\"{}\"", name, status.message(), status.fix());
    }
  };
  for (const auto& [name, webhook] : policy->notify.webhooks) check(name);
  for (const auto& [name, command] : policy->notify.commands) check(name);
}

// On the strand, between two batches.
template <typename T>
std::shared_ptr<Notifier::Slot<T>> Notifier::Ask(std::function<Result<T>(store::Store&)> what) {
  const auto slot = std::make_shared<Slot<T>>();
  const Status asked = loop_->Read([slot, what = std::move(what)](store::Store& store) {
    Result<T> answer = what(store);
    std::lock_guard lock(slot->mutex);
    slot->answer = std::move(answer);
    slot->changed.notify_all();
  });
  if (!asked.ok()) slot->answer = asked;
  return slot;
}

template <typename T>
Result<T> Notifier::AnswerOf(Slot<T>& slot) {
  for (;;) {
    {
      std::unique_lock lock(slot.mutex);
      if (slot.changed.wait_for(lock, kLook, [&] { return slot.answer.has_value(); })) return *std::move(slot.answer);
    }
    std::lock_guard lock(mutex_);
    if (stopping_) return Status(StatusCode::kAborted, "the scheduler is stopping");
  }
}

// Where to begin.
std::shared_ptr<Notifier::Slot<Progress>> Notifier::AskBegin() {
  return Ask<Progress>([first = first_](store::Store& store) -> Result<Progress> {
    if (first) {
      auto mark = store.Mark(kMark);
      if (!mark.ok()) return mark.status();
      if (!mark->empty()) return ReadProgress(*mark);
    }
    auto last = store.LastHistory();
    if (!last.ok()) return last.status();
    return Progress{*last};
  });
}

bool Notifier::Begin() {
  if (!asked_begin_) asked_begin_ = AskBegin();
  auto begin = AnswerOf(*std::exchange(asked_begin_, nullptr));
  if (!begin.ok() && begin.status().code() == StatusCode::kDataLoss) {
    LogWarning("notifications begin anew error=\"{}\"", begin.status().message());
    first_ = false;
  }
  if (!begin.ok()) return true;
  first_ = false;
  begun_ = true;
  before_ = *std::move(begin);
  read_ = before_.ReadAgainFrom();
  dirty_ = true;  // the mark is written at once: from here on nothing is lost
  return false;
}

bool Notifier::Follow() {
  for (;;) {
    auto entries = AnswerOf(*Ask<std::vector<StoredHistory>>(
        [after = read_](store::Store& store) { return store.History({.after = after, .limit = kReadMax}); }));
    if (!entries.ok()) return true;
    const server::SnapshotPtr snapshot = loop_->snapshot();
    Adopt(snapshot->policy);  // it may be newer than the one that was adopted, and these entries with it
    for (const StoredHistory& stored : *entries) {
      Take(stored, *snapshot);
      read_ = stored.seq;
    }
    if (entries->size() < kReadMax) break;
  }
  read_ = std::max(read_, before_.read);  // the history does not keep what an earlier life had read
  return false;
}

void Notifier::Take(const StoredHistory& stored, const server::Snapshot& snapshot) {
  if (!KindOf(stored.entry)) return;
  const core::Job* const job = snapshot.tables.jobs.Find(stored.entry.job);
  if (job == nullptr) return;
  for (Message& message : MessagesFor(cluster_id_, stored.seq, stored.entry, *job)) {
    if (!before_.WasTold(message.target, stored.seq)) outbox_.Put(std::move(message));
  }
}

// Returns whether it is to be tried again.
bool Notifier::WriteMark() {
  if (read_ < before_.read) return true;  // what an earlier life had told is not known by a mark of less
  Progress progress{read_};
  for (const auto& [target, first] : outbox_.Waiting()) progress.told[target] = first - 1;
  struct Written {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Status> written;
  };
  const auto slot = std::make_shared<Written>();
  const auto write = [slot, loop = loop_, mark = WriteProgress(progress)](store::Store* store) {
    Status status(StatusCode::kUnavailable, "a batch is to be written first");
    if (store != nullptr) status = store->PutMark(loop->epoch(), kMark, mark);
    std::lock_guard lock(slot->mutex);
    slot->written = std::move(status);
    slot->changed.notify_all();
  };
  if (!loop_->WriteBeside(write).ok()) return true;
  {
    std::unique_lock lock(slot->mutex);
    if (!slot->changed.wait_for(lock, kAgain, [&] { return slot->written.has_value(); })) return true;
  }
  mark_at_ = std::chrono::steady_clock::now() + kMarkPause;
  if (slot->written->ok()) {
    marked_ = read_;
    dirty_ = false;
    return false;
  }
  if (slot->written->reason() != "STALE_EPOCH") return true;
  fenced_ = true;
  outbox_.Stop();
  return false;
}

void Notifier::Skipped(const Message& message) {
  {
    std::lock_guard lock(mutex_);
    if (told_skipped_.size() >= kSkippedMax) told_skipped_.clear();
    if (!told_skipped_.emplace(message.attempt.job, message.target).second) return;
  }
  const Status posted = loop_->Post(core::NotifySkipped{message.attempt, message.target}, nullptr);
  if (!posted.ok()) LogWarning("a skipped notification is not told error=\"{}\"", posted.message());
}

}  // namespace glim::notify
