// A process' device in the operations of its node: buffers there are copied into the segment and results out of it,
// chunk by chunk, by a stream of their own (device/copy_stream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/device/copy_stream.h"
#include "sdk/device/runtime.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Of one operation: which of its buffers lie there, and what they wait for.
struct OnDevice {
  bool in = false;
  bool out = false;
  int device = 0;
  // Of the caller's compute stream when it asked: its buffers are read and written when that is done.
  std::shared_ptr<device::Event> ready = nullptr;
};

// Not thread-safe. The segment must outlive it. One device: that of the first operation.
class DeviceStage {
 public:
  // `gdr_library`: "auto" (if it is there), "none", or a path.
  DeviceStage(std::shared_ptr<const device::Runtime> runtime, Segment& segment, std::string gdr_library)
      : runtime_(std::move(runtime)), segment_(segment), gdr_library_(std::move(gdr_library)) {}
  // Waits for copies in flight, and so for what they wait for on the compute stream.
  ~DeviceStage();
  DeviceStage(const DeviceStage&) = delete;
  DeviceStage& operator=(const DeviceStage&) = delete;

  // The copies of an operation follow. INVALID_ARGUMENT: another device than before; else what the runtime said.
  Status Begin(const OnDevice& on_device);
  // Of `bytes`, for copies that do not go through the segment. RESOURCE_EXHAUSTED.
  Result<std::byte*> Bounce(std::size_t bytes);
  // An area of the segment, reserved by now, before copies from or to there; again: nothing happens. Without it they
  // are right, but slower.
  void Pin(std::byte* area, std::size_t bytes);

  // The copy's number. A failure fails the segment; 0 then.
  std::uint64_t ToHost(void* to, const void* from, std::size_t bytes);
  std::uint64_t ToDevice(void* to, const void* from, std::size_t bytes);
  bool Done(std::uint64_t copy);
  // Nothing is in flight: no buffer is used any more.
  bool Idle() { return copies_ == nullptr || Done(copies_->asked()); }
  // This process' bell rings when a copy is done.
  void PrepareWake();

  const device::Runtime& runtime() const { return *runtime_; }
  std::shared_ptr<const device::Runtime> shared_runtime() const { return runtime_; }

 private:
  std::uint64_t Asked(const Result<std::uint64_t>& copy);
  void Fail(const Status& status);

  std::shared_ptr<const device::Runtime> runtime_;
  Segment& segment_;
  std::string gdr_library_;
  std::unique_ptr<device::CopyStream> copies_;
  bool broken_ = false;
  std::map<std::byte*, bool> pinned_;  // areas, and whether that could be done
  std::byte* bounce_ = nullptr;
  std::size_t bounce_bytes_ = 0;
};

}  // namespace glim::hfreduce
