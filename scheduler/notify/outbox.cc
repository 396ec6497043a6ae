#include "scheduler/notify/outbox.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "sdk/log/log.h"

namespace glim::notify {
namespace {

constexpr Duration kLookAgain = Seconds(1);  // the clock is not this thread's

}  // namespace

void Outbox::SetTargets(const core::NotifyPolicy& policy) {
  std::vector<Message> gone;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, webhook] : policy.webhooks) lanes_.try_emplace(name, std::make_unique<Lane>());
    for (const auto& [name, command] : policy.commands) lanes_.try_emplace(name, std::make_unique<Lane>());
    for (auto& [name, lane] : lanes_) {
      const Target target = TargetOf(policy, name);
      if (target == lane->target) continue;
      lane->target = target;
      lane->due = {};
      lane->changed.notify_all();
      if (target.kind != TargetKind::kNone) continue;
      const auto begin = lane->queue.begin() + (lane->busy ? 1 : 0);
      figures_->waiting -= lane->queue.end() - begin;
      std::move(begin, lane->queue.end(), std::back_inserter(gone));
      lane->queue.erase(begin, lane->queue.end());
    }
  }
  for (const Message& message : gone) Skip(message);
  if (!gone.empty()) options_.on_progress();
}

void Outbox::Put(Message message) {
  std::unique_lock lock(mutex_);
  const auto found = lanes_.find(message.target);
  if (found == lanes_.end() || found->second->target.kind == TargetKind::kNone) {
    lock.unlock();
    return Skip(message);
  }
  Lane* const lane = found->second.get();
  if (stopping_) return;
  lane->queue.push_back(std::move(message));
  ++figures_->waiting;
  if (lane->queue.size() > options_.waiting_max) Drop(found->first, lane, lane->busy ? 1 : 0, "too many wait");
  if (!lane->thread.joinable()) lane->thread = std::thread([this, name = found->first, lane] { Run(name, lane); });
  lane->changed.notify_all();
}

std::map<std::string, std::uint64_t> Outbox::Waiting() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::uint64_t> first;
  for (const auto& [name, lane] : lanes_) {
    if (!lane->queue.empty()) first[name] = lane->queue.front().seq;
  }
  return first;
}

Duration Outbox::OldestAge() const {
  std::lock_guard lock(mutex_);
  const TimePoint now = options_.now();
  Duration age;
  for (const auto& [name, lane] : lanes_) {
    if (!lane->queue.empty()) age = std::max(age, now - lane->queue.front().happened_at);
  }
  return age;
}

void Outbox::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [name, lane] : lanes_) lane->changed.notify_all();
  }
  for (auto& [name, lane] : lanes_) {  // nothing is added to it any more
    if (lane->thread.joinable()) lane->thread.join();
  }
}

void Outbox::Run(const std::string& name, Lane* lane) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (lane->queue.empty()) {
      lane->changed.wait(lock);
      continue;
    }
    const TimePoint now = options_.now();
    if (lane->due > now) {
      lane->changed.wait_for(lock, std::chrono::milliseconds(std::min(lane->due - now, kLookAgain).ms));
      continue;
    }
    if (now - lane->queue.front().happened_at > options_.retry.patience) {
      Drop(name, lane, 0, "it happened too long ago");
    } else {
      const Message message = lane->queue.front();
      const Target target = lane->target;
      lane->busy = true;
      lock.unlock();
      const Status sent = options_.send(target, message, stopping_);
      lock.lock();
      lane->busy = false;
      if (stopping_ && !sent.ok()) return;  // it waits for the next start
      Judge(name, lane, sent);
    }
    lock.unlock();
    options_.on_progress();
    lock.lock();
  }
}

void Outbox::Judge(const std::string& name, Lane* lane, const Status& sent) {
  if (sent.ok()) {
    figures_->Count(lane->target.kind, Outcome::kDelivered);
    LogDebug("notified to={} id={}", name, lane->queue.front().id);
    lane->queue.pop_front();
    --figures_->waiting;
    lane->failures = 0;
    lane->due = {};
    return;
  }
  ++lane->failures;
  const bool refused = sent.reason() == "REFUSED" && lane->failures >= options_.retry.refusals_max;
  if (refused || lane->target.kind == TargetKind::kNone) return Drop(name, lane, 0, sent.message());
  if (lane->failures == 1) {
    LogWarning("not notified, and tried again to={} id={} why=\"{}\"", name, lane->queue.front().id, sent.message());
  }
  figures_->Count(lane->target.kind, Outcome::kRetried);
  lane->due = options_.now() + RetryAfter(options_.retry, lane->failures, options_.random());
}

void Outbox::Drop(const std::string& name, Lane* lane, std::size_t index, const std::string& why) {
  const auto dropped = lane->queue.begin() + static_cast<std::ptrdiff_t>(index);
  LogWarning("not notified to={} id={} attempt={} why=\"{}\"", name, dropped->id, core::ToString(dropped->attempt),
             why);
  figures_->Count(lane->target.kind, Outcome::kDropped);
  lane->queue.erase(dropped);
  --figures_->waiting;
  if (index > 0) return;
  lane->failures = 0;
  lane->due = {};
}

void Outbox::Skip(const Message& message) {
  LogWarning("not notified to={} id={} why=\"the policy does not name it any more\"", message.target, message.id);
  figures_->Count(TargetKind::kNone, Outcome::kSkipped);
  options_.on_skipped(message);
}

}  // namespace glim::notify
