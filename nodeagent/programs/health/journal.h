// What all sources find, in one order: events get their numbers, what has changed becomes lines, and what has to
// outlive this program is kept before anybody is told.
//
// Thread-safe: sources put in, the main thread takes out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/conditions.h"
#include "nodeagent/health/finding.h"
#include "nodeagent/health/wire/health_state.h"
#include "nodeagent/programs/health/state_writer.h"

namespace glim::nodeagent::health {

class Journal {
 public:
  // Goes on from what the file says.
  Journal(const std::string& state_file, const std::string& boot);

  const std::string& boot() const { return boot_; }
  // Of a source's rules, as they were left.
  Memory MemoryOf(const std::string& source);
  std::optional<std::uint64_t> KernelSeq();

  // All that a look of the source found.
  void TakeLook(const std::string& source, Looks looks, const Memory& memory);
  // New lines of the kernel's log, and the last record that nobody needs to read again.
  void TakeKernel(std::vector<Finding> events, std::optional<std::uint64_t> position);
  void SetConditions(const std::string& source, std::vector<Finding> conditions);

  // The main thread's. The events that were told before, with the numbers that they had.
  std::string KeptLines();
  // Waits until there is something to tell, at most `limit`.
  void Wait(std::chrono::milliseconds limit);
  // Lines for what is new. `last`: the program ends, all is kept.
  std::string TakeLines(bool last = false);

 private:
  HealthLine LineOf(HealthLine::Kind kind, Finding finding) const;

  const std::string boot_;
  StateWriter writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  HealthState state_;
  Conditions conditions_;
  std::vector<Finding> new_events_;
  std::vector<GpuUse> new_gpus_;  // not told yet; empty: nothing is new
  std::int64_t written_ms_ = 0;   // since the boot
  bool unwritten_ = false;
  bool news_ = false;
};

}  // namespace glim::nodeagent::health
