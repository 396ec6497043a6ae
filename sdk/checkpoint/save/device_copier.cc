#include "sdk/checkpoint/save/device_copier.h"

#include <algorithm>
#include <set>
#include <utility>

namespace glim::checkpoint {

Status DeviceCopier::Copy(std::span<const std::byte> memory, std::span<std::byte> image,
                          std::span<const SaveTensor> tensors, std::span<const CopyRange> copies) {
  if (std::none_of(tensors.begin(), tensors.end(), [](const SaveTensor& tensor) { return tensor.on_device; })) {
    return Status::Ok();
  }
  if (runtime_ == nullptr) {
    Result<std::shared_ptr<const device::Runtime>> loaded = device::Runtime::Loaded();
    if (!loaded.ok()) {
      return Status(StatusCode::kFailedPrecondition,
                    "tensors on a device, but this process has not loaded CUDA's runtime")
          .WithReason("NO_DEVICE_RUNTIME")
          .WithField("on_device")
          .WithFix("save tensors in host memory");
    }
    runtime_ = std::move(*loaded);
  }
  // Memory that cannot be pinned is copied to all the same, only slower.
  auto* begin = const_cast<std::byte*>(memory.data());
  if (pinned_ == nullptr && runtime_->Pin(begin, memory.size()).ok()) pinned_ = begin;
  std::set<int> waiting;
  for (const CopyRange& copy : copies) {
    const SaveTensor& tensor = tensors[copy.tensor];
    if (!tensor.on_device) continue;
    const int device = runtime_->Find(tensor.data.data()).device;
    const Result<device::CopyStream*> stream = StreamOf(device);
    if (!stream.ok()) return stream.status();
    if (waiting.insert(device).second) {
      if (Status status = (*stream)->WaitFor(compute_stream_ ? compute_stream_(device) : nullptr); !status.ok()) {
        return status;
      }
    }
    const auto asked = (*stream)->ToHost(image.data() + copy.to, tensor.data.data() + copy.from, copy.bytes);
    if (!asked.ok()) return asked.status();
  }
  for (const int device : waiting) {
    if (Status status = streams_.at(device)->Synchronize(); !status.ok()) return status;
  }
  return Status::Ok();
}

void DeviceCopier::Forget() {
  streams_.clear();  // each waits for what it has in flight, after a failure
  if (pinned_ != nullptr) runtime_->Unpin(pinned_);
  pinned_ = nullptr;
}

Result<device::CopyStream*> DeviceCopier::StreamOf(int device) {
  const auto found = streams_.find(device);
  if (found != streams_.end()) return found->second.get();
  Result<std::unique_ptr<device::CopyStream>> made = device::CopyStream::Create(runtime_, device);
  if (!made.ok()) return made.status();
  return (streams_[device] = std::move(*made)).get();
}

}  // namespace glim::checkpoint
