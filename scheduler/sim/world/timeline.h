// Virtual time: actions in order of their time, ties in order of their making. Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "sdk/base/time.h"

namespace glim::sim {

class Timeline {
 public:
  using Action = std::function<void()>;

  TimePoint now() const { return now_; }
  bool empty() const { return actions_.empty(); }

  void At(TimePoint when, Action action) {
    if (when < now_) when = now_;
    actions_.emplace(std::pair(when, ++made_), std::move(action));
  }
  void After(Duration wait, Action action) { At(now_ + wait, std::move(action)); }

  // Runs the next action; false if there is none.
  bool Step() {
    if (actions_.empty()) return false;
    auto next = actions_.extract(actions_.begin());
    now_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  TimePoint now_{1'000'000};  // 0 means "not yet" everywhere
  std::uint64_t made_ = 0;
  std::map<std::pair<TimePoint, std::uint64_t>, Action> actions_;
};

}  // namespace glim::sim
