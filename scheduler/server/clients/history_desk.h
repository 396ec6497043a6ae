// HistoryDesk: questions to the history that take a while: reports, lists with filters, the cluster as it was. They
// are answered on a thread of their own, by a connection to the store of their own: no pass and no commit waits for
// them.
// A store that has no such reader (memory) is asked on the strand, as the other questions are.
//
// Bounded as the adviser is: one report at a time for a user, pages for a peer and in all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "scheduler/server/clients/adviser.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/contract/store.h"

namespace glim::server {

class HistoryDesk {
 public:
  using Work = std::function<Status(store::HistoryReader&)>;
  using Done = std::function<void(const Status&)>;

  // The loop outlives it. `reader` may be null.
  HistoryDesk(SchedulerLoop* loop, std::unique_ptr<store::HistoryReader> reader)
      : loop_(loop), has_reader_(reader != nullptr), reader_(std::move(reader)) {}

  // Any thread; as Adviser::Post says.
  Status PostReport(const std::string& user, const std::string& peer, Work work, Done done);
  // The same for a page, of which a user may have several at a time (Bound::kReads).
  Status PostPage(const std::string& peer, Work work, Done done);

  // Ends what runs, refuses what waits, closes the reader. Idempotent; one thread.
  void Stop();

 private:
  Status Post(std::string key, const std::string& peer, Work work, Done done);

  SchedulerLoop* const loop_;
  const bool has_reader_;
  std::unique_ptr<store::HistoryReader> reader_;  // the adviser's thread's own until Stop
  std::atomic<std::uint64_t> pages_{0};
  Adviser adviser_;  // its thread ends first
};

}  // namespace glim::server
