// How the processes of a node wake each other: by a futex where only shared memory is waited for, by a datagram where
// the sleeper waits in epoll for the network too. Nobody asleep: no system call.
#pragma once

#include <cstdint>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/segment_layout.h"
#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {

// Of one process. To sleep: Prepare, look once more whether there is anything to do, then Sleep (or epoll_wait on
// Descriptor), or Cancel. One thread at a time sleeps; any thread may ring.
// A ring can be lost only with the process that rings: sleep for bounded moments.
class Bell {
 public:
  // The header must outlive it.
  Bell(SegmentHeader& header, std::uint32_t local_rank) : header_(header), local_rank_(local_rank) {}
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // After a change of shared memory that others may wait for.
  void RingOthers();
  void RingOne(std::uint32_t rank);
  // Also for a thread of this process that sleeps.
  void RingAll();

  void PrepareFutex() { Prepare(SleeperKind::kFutex); }
  // After this, Descriptor becomes readable when somebody rings.
  void PrepareDescriptor() { Prepare(SleeperKind::kDescriptor); }
  void Cancel();
  // Until somebody rings, a signal comes or the time is over.
  void SleepOnFutex(Duration at_most);

  // For epoll, level-triggered; Cancel empties it. Made at the first call. UNAVAILABLE: no socket can be had.
  Result<int> Descriptor();

 private:
  BellState& state(std::uint32_t rank) { return header_.rank[rank].bell; }
  void Prepare(SleeperKind kind);
  void Ring(std::uint32_t rank);
  void SendDatagram(const BellState& to);

  SegmentHeader& header_;
  std::uint32_t local_rank_;
  std::uint32_t seen_word_ = 0;
  UniqueFd receiver_;
  std::atomic<int> sender_{-1};
};

// A futex that processes share.
void WaitOnFutex(std::atomic<std::uint32_t>& word, std::uint32_t while_value, Duration at_most);
void WakeFutex(std::atomic<std::uint32_t>& word);

}  // namespace glim::hfreduce
