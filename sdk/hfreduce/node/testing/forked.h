// Ranks of a node as real processes, for tests.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce::testing {

// Forked at construction; killed at destruction, if they are still there.
class Forked {
 public:
  // `body` returns what went wrong, or nothing. A process that hangs is ended by a signal in the end.
  Forked(std::uint32_t count, const std::function<std::string(std::uint32_t rank)>& body);
  ~Forked();
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  pid_t pid(std::uint32_t rank) const { return children_[rank].pid; }
  void Signal(std::uint32_t rank, int signal) const;
  // What it said, or "signal 9".
  std::string Wait(std::uint32_t rank);
  // One line for each rank that said something: "2: ...".
  std::string WaitAll();

 private:
  struct Child {
    pid_t pid = 0;
    int pipe = -1;
  };
  std::vector<Child> children_;
};

// Of a test: small areas, a name and session that no other test has, a timeout of 20 s.
SegmentOptions TestOptions(std::uint32_t ranks, std::uint32_t local_rank, const std::string& test);
// Names in /dev/shm that TestOptions' segments of this test have or had.
std::vector<std::string> SegmentFilesOf(const std::string& test);
int OpenDescriptors();

}  // namespace glim::hfreduce::testing
