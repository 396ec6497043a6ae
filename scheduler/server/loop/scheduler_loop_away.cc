// SchedulerLoop while its store is away or full: a commit is held and made again until it is settled.
#include <chrono>
#include <utility>

#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/loop/store_away.h"
#include "sdk/log/log.h"

namespace glim::server {

// The core has gone on and the store has not: nothing is shown and no agent answered until the commit is settled.
void SchedulerLoop::HoldBatch(core::DriveResult result, std::vector<Item> items, bool membership, TimePoint now) {
  LogError("the store takes no changes: the commit is held retry_ms={} reason={} error=\"{}\" fix=\"{}\"",
           options_.store_retry.ms, held_->why.reason(), held_->why.message(), held_->why.fix());
  std::vector<Item> waiting;
  {
    std::lock_guard lock(mutex_);
    away_since_ = now;
    away_why_ = held_->why;
    std::deque<Item> agents;
    for (Item& item : inbox_) (item.counted ? waiting.push_back(std::move(item)) : agents.push_back(std::move(item)));
    inbox_ = std::move(agents);
    counted_ = 0;
  }
  auto stale = std::make_shared<Snapshot>(*snapshot_.load());
  stale->stale_since = now;
  stale->stale_why = AwayInWords(held_->why);
  snapshot_.store(std::move(stale));

  KeepAudit(waiting, held_->why);
  core::Reply in_doubt, refused;
  in_doubt.status = InDoubtWhileAway(held_->why);
  refused.status = RefusedWhileAway(held_->why, now, now);
  for (Item& item : items) {
    if (item.counted && item.done) std::exchange(item.done, nullptr)(in_doubt);
  }
  for (const Item& item : waiting) {
    if (item.done) item.done(refused);
  }
  held_->result = std::move(result);
  held_->items = std::move(items);
  held_->membership = membership;
  held_->now = now;
  RetryLater();
}

void SchedulerLoop::RetryLater() {
  retry_timer_.expires_after(std::chrono::milliseconds(options_.store_retry.ms));
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && held_ && RetryHeld()) Drain();
  });
}

// False: the store is still away, or the commit was refused and the process ends.
bool SchedulerLoop::RetryHeld() {
  const auto begin = std::chrono::steady_clock::now();
  const Status status = store_->Commit(epoch_, held_->mutations, held_->chronicle.ended, held_->audit);
  commit_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (IsStoreAway(status)) {
    RetryLater();
    return false;
  }
  if (!status.ok()) {
    Fail(status, {});
    return false;
  }
  const Held held = std::move(*held_);
  held_.reset();
  TimePoint since;
  {
    std::lock_guard lock(mutex_);
    since = std::exchange(away_since_, {});
  }
  LogInfo("the store is back and the commit is done away_ms={}", (options_.clock() - since).ms);
  NoteCommitted(held.mutations);
  has_history_ = held.chronicle.has_history;
  FinishBatch(held.result, held.items, held.membership, held.now);
  return true;
}

// The process stops on request, and the store is not back.
void SchedulerLoop::GiveUpHeld() {
  std::vector<Item> items = std::move(held_->items);
  core::Reply reply;
  reply.status = InDoubtWhileAway(held_->why);
  std::size_t unwritten = held_->audit.size();
  held_.reset();
  {
    std::lock_guard lock(mutex_);
    unwritten += denied_.size();
    for (Item& item : inbox_) items.push_back(std::move(item));
    inbox_.clear();
  }
  if (unwritten > 0) LogError("rows of the audit trail that the store did not take rows={}", unwritten);
  for (const Item& item : items) {
    if (item.done) item.done(reply);
  }
}

}  // namespace glim::server
