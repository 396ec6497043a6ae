// Copies between a device and the host on a stream of their own: the caller's compute stream never waits for them.
//
//   compute:  kernel ── event ── kernel ── ...          goes on as if nothing were
//   copies:       waits for ┘ copy ── event ── copy ── event
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/device/gdr_copy.h"
#include "sdk/device/runtime.h"

namespace glim::device {

// At most so much goes by GDRCopy where that is there. Not measured by us: its authors and UCX put the limit for reads
// between 8 and 32 KiB.
inline constexpr std::size_t kGdrCopyBytesMax = std::size_t{16} << 10;

// Not thread-safe. Host memory should be pinned (Runtime::Pin), or a copy may hold up the thread that asks for it.
// Buffers stay untouched until their copy is done.
class CopyStream {
 public:
  // `gdr` may be null. Failures of all functions are INTERNAL with the runtime's words.
  static Result<std::unique_ptr<CopyStream>> Create(std::shared_ptr<const Runtime> runtime, int device,
                                                    std::unique_ptr<GdrCopy> gdr = nullptr);
  // Waits for what was asked for, and so for what it waits for on the compute stream.
  ~CopyStream();
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  // Copies that are asked for from now on begin when what was recorded is done.
  Status WaitFor(std::shared_ptr<Event> recorded);
  // ... what `compute` has now.
  Status WaitFor(StreamHandle compute);

  // The number of the copy, counted from 1. Of memory that other copies in flight read or write, the order is theirs
  // only once Completed says that they are done: little may overtake much.
  Result<std::uint64_t> ToHost(void* to, const void* from, std::size_t bytes);
  Result<std::uint64_t> ToDevice(void* to, const void* from, std::size_t bytes);

  // Copies up to this number are done. Without waiting.
  Result<std::uint64_t> Completed();
  // Number of the last one that was asked for.
  std::uint64_t asked() const { return asked_; }
  // Blocks until all are done.
  Status Synchronize();
  // `call(argument)` comes once, from here or from a thread of the runtime, when Completed may say more than now; not
  // at all if nothing is in flight. It must not call the runtime, must return soon, and be callable until this is
  // destroyed.
  Status NotifyOnce(void (*call)(void*), void* argument);

  int device() const { return device_; }

 private:
  struct Pending {
    std::uint64_t number = 0;
    std::unique_ptr<Event> copied;  // null: by GDRCopy, when `recorded` and all before are done
    std::shared_ptr<Event> recorded;
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    CudaMemcpyKind kind = kCudaMemcpyDeviceToHost;
  };

  CopyStream(std::shared_ptr<const Runtime> runtime, int device, std::unique_ptr<GdrCopy> gdr)
      : runtime_(std::move(runtime)), device_(device), gdr_(std::move(gdr)) {}
  Result<std::uint64_t> Copy(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind);
  Status Enqueue(Pending& copy);
  Result<bool> Finish(Pending& copy);

  std::shared_ptr<const Runtime> runtime_;
  int device_;
  std::unique_ptr<GdrCopy> gdr_;
  StreamHandle copies_ = nullptr;
  StreamHandle notices_ = nullptr;  // of its own: a call by the copies' stream would hold up the next copy
  std::shared_ptr<Event> recorded_;
  std::deque<Pending> pending_;
  std::vector<std::unique_ptr<Event>> unused_;
  std::uint64_t asked_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t notified_ = 0;  // the copy that the last notice is about
};

}  // namespace glim::device
