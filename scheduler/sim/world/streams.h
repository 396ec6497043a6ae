// When each machine's agent had a stream to the scheduler, in the world's own time. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::sim {

class Streams {
 public:
  // Said again, it changes nothing.
  void Up(core::NodeId node, TimePoint now);
  void Down(core::NodeId node, TimePoint now);

  bool IsUp(core::NodeId node) const;
  // Of the present stream, or of the last one.
  TimePoint UpSince(core::NodeId node) const;
  // How often one ended since then.
  std::int64_t Breaks(core::NodeId node, TimePoint since) const;
  // How long there was none since then.
  Duration Away(core::NodeId node, TimePoint since, TimePoint now) const;

 private:
  std::map<core::NodeId, std::vector<std::pair<TimePoint, TimePoint>>> times_;  // from, to; 0: it is there
};

}  // namespace glim::sim
