#include "scheduler/server/agents/held_saves.h"

#include <iterator>
#include <utility>

namespace glim::server {

void HeldSaves::Drop(std::map<Place, Told>::iterator it) {
  jobs_ -= it->second.jobs.size();
  told_.erase(it);
}

bool HeldSaves::Put(Told told) {
  const std::lock_guard lock(mutex_);
  if (const auto old = told_.find({told.shared, told.node}); old != told_.end()) Drop(old);
  // Another node has looked through the root before.
  while (told.shared && !told_.empty() && told_.rbegin()->first.first) Drop(std::prev(told_.end()));
  if (jobs_ + told.jobs.size() > kJobsMax) return false;
  jobs_ += told.jobs.size();
  const Place place{told.shared, told.node};
  told_.emplace(place, std::move(told));
  return true;
}

void HeldSaves::Remove(core::NodeId node, bool shared, const std::set<core::JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  const auto it = told_.find({shared, node});
  if (it == told_.end()) return;
  jobs_ -= std::erase_if(it->second.jobs, [&](const OfJob& one) { return jobs.contains(one.job); });
}

bool HeldSaves::ShouldHurry(core::NodeId node) {
  const std::lock_guard lock(mutex_);
  return !told_.contains({false, node}) && hurried_.insert(node).second;
}

void HeldSaves::Each(const std::function<void(const Told&)>& each) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [place, told] : told_) each(told);
}

}  // namespace glim::server
