#include "nodeagent/saves/save_copier.h"

#include <algorithm>

namespace glim::nodeagent {

SaveCopier::SaveCopier(CopyPlace place, unsigned at_once) : place_(std::move(place)) {
  for (unsigned i = 0; i < at_once; ++i) threads_.emplace_back([this] { Run(); });
}

SaveCopier::~SaveCopier() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
    for (const auto& progress : under_way_) progress->cancelled = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<CopyProgress> SaveCopier::Start(CopyOrder order, Done done) {
  auto progress = std::make_shared<CopyProgress>();
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(order), std::move(done), progress});
  }
  changed_.notify_all();
  return progress;
}

bool SaveCopier::Cancel(const std::shared_ptr<CopyProgress>& progress) {
  std::lock_guard lock(mutex_);
  progress->cancelled = true;
  return std::erase_if(waiting_, [&](const Copy& copy) { return copy.progress == progress; }) > 0;
}

std::deque<SaveCopier::Copy>::iterator SaveCopier::NextReady() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [this](const Copy& copy) { return !jobs_.contains(copy.order.job); });
}

void SaveCopier::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || NextReady() != waiting_.end(); });
    if (stop_) return;
    const auto next = NextReady();
    const Copy copy = std::move(*next);
    waiting_.erase(next);
    jobs_.insert(copy.order.job);
    under_way_.insert(copy.progress);
    lock.unlock();
    const Status status = CopySave(place_, copy.order, *copy.progress);
    lock.lock();
    jobs_.erase(copy.order.job);
    under_way_.erase(copy.progress);
    changed_.notify_all();
    if (stop_) return;
    lock.unlock();
    copy.done(status);
    lock.lock();
  }
}

}  // namespace glim::nodeagent
