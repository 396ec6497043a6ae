// At most N writers at once to one storage target from this machine, whatever their processes: the client's half of
// what Fire-Flyer's 3FS does against congestion, where a sender asks before it sends and only so many are let
// (Fire-Flyer AI-HPC, section VI-B, "request-to-send"). More writers than a disk or a network card needs only share
// it, and all of them finish late.
//
// A folder for each target holds one file ("ticket") for each writer or waiter, numbered in the order of their coming
// and locked (flock) as long as its process lives. A writer has its turn when fewer than N living tickets have lower
// numbers. So turns are taken in order, and the kernel gives back what a killed process held; its children that still
// have its descriptors must have ended too.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {

// The name of the file system that the open folder lies on, for this machine: "8-1".
Result<std::string> TargetOf(int folder);

// One turn, given back at the end. Movable.
class WriterTurn {
 public:
  WriterTurn(int folder, std::string ticket, UniqueFd lock);
  WriterTurn(WriterTurn&&) noexcept = default;
  WriterTurn& operator=(WriterTurn&& other) noexcept;
  ~WriterTurn() { Release(); }

 private:
  void Release();

  UniqueFd folder_;
  std::string ticket_;
  UniqueFd lock_;
};

// A value without state of its own; any thread, any number of objects for one folder.
class TargetLimit {
 public:
  // `base`: a folder that exists and that all who share the limit may write to, on this machine's own file system.
  // `writers`: N, at least 1. Processes that give different ones each keep to their own.
  TargetLimit(std::string base, std::string target, std::uint32_t writers);

  // Waits for a turn. DEADLINE_EXCEEDED, or errno's words when `base` cannot be used.
  Result<WriterTurn> Acquire(std::chrono::steady_clock::time_point deadline) const;

 private:
  Result<WriterTurn> DrawTicket(int folder, std::chrono::steady_clock::time_point deadline,
                                std::uint64_t& number) const;

  const std::string base_;
  const std::string target_;
  const std::uint32_t writers_;
};

}  // namespace glim::checkpoint
