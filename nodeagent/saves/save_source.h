// The reader's side of SaveApi.Fetch: one source's files into a SaveWriter. Blocks its thread, which owns the call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "nodeagent/saves/save_writer.h"

namespace glim::nodeagent {

// Shared by who copies and who watches. Thread-safe.
struct CopyProgress {
  std::atomic<std::int64_t> bytes{0};  // received, also from sources that then failed: it only grows
  std::atomic<bool> cancelled{false};
};

struct SaveSource {
  std::string node;     // its name
  std::string address;  // host:port
  std::string token;
};

struct FetchQuestion {
  std::uint64_t job = 0;
  std::string local;
  std::string reader;  // this node's name
};

// OK: the writer has all that the source has, whole and on the disk. Otherwise the source's status, CANCELLED,
// DATA_LOSS for what does not fit, DEADLINE_EXCEEDED when nothing came for `stall`, or the writer's own error.
Status FetchFrom(const SaveSource& source, const FetchQuestion& question, std::chrono::milliseconds stall,
                 CopyProgress& progress, SaveWriter& writer);

}  // namespace glim::nodeagent
