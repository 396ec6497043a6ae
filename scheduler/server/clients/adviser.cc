#include "scheduler/server/clients/adviser.h"

#include <utility>

namespace glim::server {
namespace {

Status AdviserIsStopping() {
  return Status(StatusCode::kUnavailable, "the scheduler is stopping").WithReason("STOPPING").WithFix("try again");
}

Status Overloaded(std::string message) {
  return Status(StatusCode::kResourceExhausted, std::move(message))
      .WithReason("OVERLOADED")
      .WithFix("try again in 1 s");
}

}  // namespace

Adviser::Adviser() : thread_([this] { Run(); }) {}

Adviser::~Adviser() { Stop(); }

Status Adviser::Post(std::string user, std::string peer, Task task) {
  std::lock_guard lock(mutex_);
  if (stopped_) return AdviserIsStopping();
  if (const auto of_user = users_.find(user); of_user != users_.end() && of_user->second >= kOfUserMax) {
    return Overloaded("user " + user + " has as many such questions waiting as one may: " + std::to_string(kOfUserMax));
  }
  if (const auto of_peer = peers_.find(peer); of_peer != peers_.end() && of_peer->second >= kOfPeerMax) {
    return Overloaded("peer " + peer + " has as many such questions waiting as it may: " + std::to_string(kOfPeerMax));
  }
  if (waiting_.size() >= kWaitingMax) {
    return Overloaded("as many such questions of all callers wait as may: " + std::to_string(kWaitingMax));
  }
  ++users_[user];
  ++peers_[peer];
  waiting_.push_back({std::move(user), std::move(peer), std::move(task)});
  wake_.notify_one();
  return Status::Ok();
}

void Adviser::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const Status status = next.task.work();
    lock.lock();
    if (--users_[next.user] == 0) users_.erase(next.user);  // before the answer: who has it may ask again
    if (--peers_[next.peer] == 0) peers_.erase(next.peer);
    lock.unlock();
    next.task.done(status);
    lock.lock();
  }
}

void Adviser::Stop() {
  std::deque<Waiting> refused;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    refused.swap(waiting_);
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  for (const Waiting& waiting : refused) waiting.task.done(AdviserIsStopping());
}

}  // namespace glim::server
