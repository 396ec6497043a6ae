// One source of findings on a thread of its own: a look that hangs (a driver, a sick disk) holds up nobody else, and is
// told as the condition health_blind when its time is over.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nodeagent/health/finding.h"
#include "nodeagent/programs/health/journal.h"

namespace glim::nodeagent::health {

struct Source {
  std::string name;  // as health_blind names it
  std::chrono::milliseconds every{1000};
  std::chrono::milliseconds deadline{10'000};
  std::function<Looks(Memory&)> look;  // on the thread
};

class SourceThread {
 public:
  // Begins to look. The thread lives as long as the program, and so do this and the journal.
  SourceThread(Source source, Journal& journal);
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;

  // Any thread. health_blind if a look takes too long.
  std::optional<Finding> Blind() const;
  bool has_looked() const { return looked_; }

 private:
  void Run();

  const Source source_;
  Journal& journal_;
  std::atomic<std::int64_t> since_ms_ = 0;  // of the look that is under way, since the boot; 0: none is
  std::atomic<bool> looked_ = false;
};

// Of a source that cannot be read, and why.
Finding BlindTo(const std::string& source, const std::string& why);

}  // namespace glim::nodeagent::health
