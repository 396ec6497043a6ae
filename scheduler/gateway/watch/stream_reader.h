// StreamReader: one stream's reader: what it asked for, how far it has come, and what waits for its connection. Plain
// values of the hub, on its thread alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/gateway/sse_sink.h"
#include "scheduler/gateway/watch/frames.h"
#include "scheduler/gateway/watch/log_topic.h"
#include "scheduler/gateway/watch/state_board.h"
#include "scheduler/gateway/watch/topics.h"
#include "scheduler/server/door/caller.h"
#include "scheduler/server/limits/caller_limits.h"

namespace glim::gateway {

struct StreamReader {
  std::uint64_t id = 0;
  std::shared_ptr<SseSink> sink;
  server::Caller caller;
  server::Admission admission;
  std::vector<Topic> topics;
  std::vector<StateBoard::Key> keys;  // of the topics that are states
  std::string shown;                  // keys and rights: readers with the same are sent the same
  std::uint32_t shown_hash = 0;
  std::uint64_t round = 0;  // of the state topics; 0: nothing has been sent
  bool events = false;
  bool seq_known = false;   // else it begins with the newest few
  bool page_asked = false;  // of the store: it is behind what the ring has
  std::uint64_t seq = 0;
  std::vector<std::shared_ptr<LogTopic>> logs;
  std::deque<Frame> outbox;
  TimePoint behind_since;  // 0: it is not
  TimePoint stale_told;    // what it was told last; 0: that nothing is stale
  bool bye = false;

  std::string IdNow(std::uint64_t epoch) const;
  // Hands the sink what it takes; true: nothing is left.
  bool Flush();
};

}  // namespace glim::gateway
