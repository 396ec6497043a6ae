// SchedulerLoop: what of the inbox makes the next batch.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

std::vector<SchedulerLoop::Item> SchedulerLoop::Take(TimePoint now, bool* time_passed) {
  std::vector<Item> items;
  std::deque<Item> left;  // beyond their users' shares
  std::map<std::string, std::size_t> of_user;
  std::lock_guard lock(mutex_);
  const bool due = wake_at_ && now >= wake_at_;
  if (!due) due_mark_ = 0;
  if (due && due_mark_ == 0) due_mark_ = posted_ + 1;
  items.reserve(std::min(inbox_.size(), options_.batch_max));
  while (!inbox_.empty() && items.size() < options_.batch_max) {
    Item next = std::move(inbox_.front());
    inbox_.pop_front();
    // Everybody in a batch is answered after its commit: a user's flood that is one batch keeps all others waiting.
    const bool has_share = next.counted && next.audit && !next.audit->user.empty();
    if (has_share && ++of_user[next.audit->user] > options_.share_max) {
      left.push_back(std::move(next));
      continue;
    }
    counted_ -= next.counted ? 1 : 0;
    taken_ += next.counted ? 0 : 1;
    items.push_back(std::move(next));
    if (TakesRights(items.back().what)) break;
  }
  inbox_.insert(inbox_.begin(), std::move_iterator(left.begin()), std::move_iterator(left.end()));
  scheduled_ = !inbox_.empty();
  // Silence is judged only when every report that had arrived before the deadline was taken in. What clients asked for
  // does not count: no flood of theirs holds up time.
  *time_passed = due && taken_ + 1 >= due_mark_;
  if (*time_passed) due_mark_ = 0;
  return items;
}

}  // namespace glim::server
