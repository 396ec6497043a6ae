// Reads the kernel's log on a thread of its own: /dev/kmsg, or in tests a pipe or a file of its records.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "nodeagent/health/kernel_reader.h"
#include "nodeagent/programs/health/journal.h"

namespace glim::nodeagent::health {

class KernelLog {
 public:
  // Begins to read. The thread lives as long as the program, and so do this and the journal. `memory_counters`: see
  // kernel_reader.h.
  KernelLog(std::string path, bool memory_counters, std::chrono::milliseconds again, Journal& journal);
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // It is read, or it has been told that it cannot be.
  bool has_looked() const { return looked_; }

 private:
  enum class Kind { kDevice, kPipe, kFile };

  void Run();
  void Follow(int fd, Kind kind);
  int Read(int fd, Kind kind, KernelReader& reader);
  void Refuse(int error);

  const std::string path_;
  const bool memory_counters_;
  const std::chrono::milliseconds again_;
  Journal& journal_;
  std::string line_;  // of a pipe or a file, what has come of it
  std::atomic<bool> looked_ = false;
};

}  // namespace glim::nodeagent::health
