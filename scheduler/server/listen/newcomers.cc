#include "scheduler/server/listen/newcomers.h"

#include <algorithm>
#include <utility>

namespace glim::server {

bool Newcomers::IsFull(TimePoint now) const {
  if (size_ < kMax) return false;
  return std::none_of(by_host_.begin(), by_host_.end(),
                      [&](const auto& host) { return now - host.second.front().since >= kPatience; });
}

void Newcomers::Add(One one) {
  std::deque<One>& own = by_host_[one.host];
  own.push_back(std::move(one));
  if (++size_ <= kMax) return;
  const auto most = std::max_element(by_host_.begin(), by_host_.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  most->second.pop_back();
  if (most->second.empty()) by_host_.erase(most);
  --size_;
}

Newcomers::One Newcomers::Next() {
  auto host = by_host_.upper_bound(last_);
  if (host == by_host_.end()) host = by_host_.begin();
  last_ = host->first;
  One one = std::move(host->second.front());
  host->second.pop_front();
  if (host->second.empty()) by_host_.erase(host);
  --size_;
  return one;
}

}  // namespace glim::server
