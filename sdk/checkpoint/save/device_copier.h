// Tensors on devices: their copy goes from the device straight into the image, on a stream of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/tensor.h"
#include "sdk/device/copy_stream.h"

namespace glim::checkpoint {

// Not thread-safe. Nothing of a device is touched before the first Copy that has something to do.
class DeviceCopier {
 public:
  // `runtime`: nullptr: CUDA's, if this process has loaded it by then. `compute_stream` as in SaverOptions.
  DeviceCopier(std::shared_ptr<const device::Runtime> runtime, std::function<void*(int device)> compute_stream)
      : runtime_(std::move(runtime)), compute_stream_(std::move(compute_stream)) {}
  ~DeviceCopier() { Forget(); }
  DeviceCopier(const DeviceCopier&) = delete;
  DeviceCopier& operator=(const DeviceCopier&) = delete;

  // The ranges of tensors on devices, after what their compute streams have now; returns when they are in `image`, a
  // part of `memory`, which is pinned the first time. FAILED_PRECONDITION: no runtime; else the runtime's words.
  Status Copy(std::span<const std::byte> memory, std::span<std::byte> image, std::span<const SaveTensor> tensors,
              std::span<const CopyRange> copies);
  // Before `memory` goes.
  void Forget();

 private:
  Result<device::CopyStream*> StreamOf(int device);

  std::shared_ptr<const device::Runtime> runtime_;
  const std::function<void*(int device)> compute_stream_;
  std::map<int, std::unique_ptr<device::CopyStream>> streams_;  // by device
  void* pinned_ = nullptr;
};

}  // namespace glim::checkpoint
