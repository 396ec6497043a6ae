#include "sdk/hfreduce/node/device_stage.h"

#include <utility>

namespace glim::hfreduce {

DeviceStage::~DeviceStage() {
  copies_.reset();
  for (const auto& [area, done] : pinned_) {
    if (done) runtime_->Unpin(area);
  }
  if (bounce_ != nullptr) runtime_->FreePinned(bounce_);
}

Status DeviceStage::Begin(const OnDevice& on_device) {
  if (!copies_) {
    std::unique_ptr<device::GdrCopy> gdr;
    if (gdr_library_ != "none") {
      auto opened = device::GdrCopy::Open(gdr_library_ == "auto" ? "" : gdr_library_);
      if (opened.ok()) gdr = std::move(opened.value());
      if (!opened.ok() && gdr_library_ != "auto") return opened.status();
    }
    auto made = device::CopyStream::Create(runtime_, on_device.device, std::move(gdr));
    if (!made.ok()) return made.status();
    copies_ = std::move(made.value());
  }
  if (on_device.device != copies_->device()) {
    return InvalidArgument("in",
                           "lies on device " + std::to_string(on_device.device) + ", the communicator uses " +
                               std::to_string(copies_->device()),
                           "use one device a communicator");
  }
  return on_device.ready ? copies_->WaitFor(on_device.ready) : Status::Ok();
}

Result<std::byte*> DeviceStage::Bounce(std::size_t bytes) {
  if (bounce_bytes_ < bytes) {
    if (bounce_ != nullptr) runtime_->FreePinned(bounce_);
    bounce_ = static_cast<std::byte*>(runtime_->AllocatePinned(bytes));
    bounce_bytes_ = bounce_ != nullptr ? bytes : 0;
  }
  if (bounce_ != nullptr) return bounce_;
  return Status(StatusCode::kResourceExhausted, "no pinned memory for " + std::to_string(bytes) + " bytes");
}

void DeviceStage::Pin(std::byte* area, std::size_t bytes) {
  if (!pinned_.contains(area)) pinned_[area] = runtime_->Pin(area, bytes).ok();
}

std::uint64_t DeviceStage::ToHost(void* to, const void* from, std::size_t bytes) {
  return Asked(copies_->ToHost(to, from, bytes));
}

std::uint64_t DeviceStage::ToDevice(void* to, const void* from, std::size_t bytes) {
  return Asked(copies_->ToDevice(to, from, bytes));
}

std::uint64_t DeviceStage::Asked(const Result<std::uint64_t>& copy) {
  if (copy.ok()) return *copy;
  Fail(copy.status());
  return 0;
}

bool DeviceStage::Done(std::uint64_t copy) {
  if (broken_) return true;
  const Result<std::uint64_t> completed = copies_->Completed();
  if (completed.ok()) return *completed >= copy;
  Fail(completed.status());
  return true;
}

void DeviceStage::PrepareWake() {
  if (!copies_ || broken_) return;
  const auto ring = [](void* self) {
    Segment& segment = static_cast<DeviceStage*>(self)->segment_;
    segment.bell().RingOne(segment.local_rank());
  };
  if (Status status = copies_->NotifyOnce(ring, this); !status.ok()) Fail(status);
}

// The runtime's errors are for good.
void DeviceStage::Fail(const Status& status) {
  broken_ = true;
  segment_.Fail(Status(status.code(), segment_.NameOf(segment_.local_rank()) + ": " + status.message()));
}

}  // namespace glim::hfreduce
