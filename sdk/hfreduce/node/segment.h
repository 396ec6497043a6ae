// The memory that the processes of a node share, as in section IV of the Fire-Flyer paper: every GPU's data arrives
// here, is reduced here, and the result is read from here. A head with counters, a staging area for each process, one
// for results, and an arena for each process, from which buffers are allocated that all can read in place.
//
//   [ head | staging of rank 0, 1, ... | results | arena of rank 0, 1, ... ]
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/bell.h"
#include "sdk/hfreduce/node/segment_file.h"
#include "sdk/hfreduce/node/segment_layout.h"

namespace glim::hfreduce {

struct SegmentOptions {
  std::string folder = "/dev/shm";
  std::string name;           // of the file in it: SegmentName
  std::uint64_t session = 0;  // the same for all processes of one run and for no other: tells runs of one name apart
  std::uint32_t ranks = 1;    // processes of the node, at most kLocalRanksMax
  std::uint32_t local_rank = 0;
  std::uint32_t first_rank = 0;       // the communicator's number of local rank 0, for messages
  std::size_t stage_bytes = 4 << 20;  // of each process
  std::size_t result_bytes = 4 << 20;
  std::size_t arena_bytes = std::size_t{64} << 30;  // of each process; address space, memory comes with Allocate
  int numa_node = -1;                               // of the network card, for results; -1: unknown
  Duration timeout = Seconds(60);                   // until all processes are there
};

// "glim-hfreduce-ID-NODE", with what a file's name must not hold replaced.
std::string SegmentName(const std::string& communicator_id, std::uint32_t node);

// Mapped by every process, at another address in each. Its functions may be called from any thread, Allocate and the
// Reserve ones from one at a time. Spans and pointers into it end with it.
class Segment {
 public:
  // Blocks until all processes have mapped it; its name is gone then. Errors: INVALID_ARGUMENT (a field, or processes
  // that were given different ones), DEADLINE_EXCEEDED (who is missing), ALREADY_EXISTS (two processes with one rank,
  // or another run has the name), RESOURCE_EXHAUSTED, UNAVAILABLE (a process died meanwhile: which).
  static Result<std::unique_ptr<Segment>> Open(const SegmentOptions& options);
  // Operations of the others that still need this process fail.
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::uint32_t ranks() const { return options_.ranks; }
  std::uint32_t local_rank() const { return options_.local_rank; }
  std::string NameOf(std::uint32_t local_rank) const;  // "rank 11"
  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(base_); }
  RankState& rank(std::uint32_t local_rank) { return header().rank[local_rank]; }
  RankState& own() { return rank(options_.local_rank); }
  Bell& bell() { return *bell_; }

  // Of this process' arena, page aligned, until the segment ends. RESOURCE_EXHAUSTED.
  Result<std::span<std::byte>> Allocate(std::size_t bytes);
  // Where a range of this process' addresses lies in the segment; none if it does not.
  std::optional<std::uint64_t> OffsetOf(const void* start, std::size_t bytes) const;
  // Null if the range is not within the arenas: another process said so. Its pages are mapped here at the first call.
  std::byte* At(std::uint64_t offset, std::size_t bytes);

  std::size_t stage_bytes() const { return options_.stage_bytes; }
  std::size_t result_bytes() const { return options_.result_bytes; }
  std::byte* StageOf(std::uint32_t local_rank) { return base_ + stage_offset_ + local_rank * options_.stage_bytes; }
  std::byte* Results() { return base_ + result_offset_; }
  // Before the first touch of the own staging area, and of the results. RESOURCE_EXHAUSTED.
  Status ReserveStage();
  Status ReserveResults();

  // The first failure holds, for all processes and for good. Wakes everybody.
  void Fail(const Status& status);
  bool failed() const { return head().failure.state.load(std::memory_order_acquire) != FailureState::kNone; }
  // Ok while not failed.
  Status failure() const;

  // UNAVAILABLE with the name of a process that died or left although it has not finished operation `sequence`.
  Status CheckAlive(std::uint64_t sequence);

 private:
  explicit Segment(const SegmentOptions& options);
  const SegmentHeader& head() const { return *reinterpret_cast<const SegmentHeader*>(base_); }
  std::string path() const { return options_.folder + "/" + options_.name; }
  Status Create();
  Status Attach();
  Status Map();
  void FillHeader();
  Status CheckHeader() const;
  Status Join();
  Status WaitForAll();

  SegmentOptions options_;
  SegmentFile file_;
  std::uint64_t stage_offset_ = 0;
  std::uint64_t result_offset_ = 0;
  std::uint64_t arena_offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
  std::unique_ptr<Bell> bell_;
  bool joined_ = false;
  bool stage_reserved_ = false;
  bool results_reserved_ = false;
  std::uint64_t allocated_ = 0;
  std::uint64_t mapped_to_[kLocalRanksMax] = {};  // of each arena: offset up to where pages were mapped
};

}  // namespace glim::hfreduce
