#include "sdk/device/copy_stream.h"

#include <utility>

namespace glim::device {

Result<std::unique_ptr<CopyStream>> CopyStream::Create(std::shared_ptr<const Runtime> runtime, int device,
                                                       std::unique_ptr<GdrCopy> gdr) {
  const DeviceScope scope(*runtime, device);
  std::unique_ptr<CopyStream> stream(new CopyStream(std::move(runtime), device, std::move(gdr)));
  const Runtime& cuda = *stream->runtime_;
  // Non-blocking: the legacy default stream would wait for it. Priorities mean nothing to copies.
  for (StreamHandle* handle : {&stream->copies_, &stream->notices_}) {
    const CudaError error = cuda.functions().stream_create_with_flags(handle, kCudaStreamNonBlocking);
    if (Status status = cuda.Check("cudaStreamCreateWithFlags", error); !status.ok()) return status;
  }
  return stream;
}

CopyStream::~CopyStream() {
  const DeviceScope scope(*runtime_, device_);
  (void)Synchronize();
  for (StreamHandle handle : {copies_, notices_}) {
    if (handle == nullptr) continue;
    (void)runtime_->Check("cudaStreamSynchronize", runtime_->functions().stream_synchronize(handle));
    (void)runtime_->Check("cudaStreamDestroy", runtime_->functions().stream_destroy(handle));
  }
}

Status CopyStream::WaitFor(std::shared_ptr<Event> recorded) {
  const CudaError error = runtime_->functions().stream_wait_event(copies_, recorded->handle(), 0);
  recorded_ = std::move(recorded);
  return runtime_->Check("cudaStreamWaitEvent", error);
}

Status CopyStream::WaitFor(StreamHandle compute) {
  auto recorded = Event::Record(runtime_, device_, compute);
  return recorded.ok() ? WaitFor(std::move(recorded.value())) : recorded.status();
}

Result<std::uint64_t> CopyStream::ToHost(void* to, const void* from, std::size_t bytes) {
  return Copy(to, from, bytes, kCudaMemcpyDeviceToHost);
}

Result<std::uint64_t> CopyStream::ToDevice(void* to, const void* from, std::size_t bytes) {
  return Copy(to, from, bytes, kCudaMemcpyHostToDevice);
}

Result<std::uint64_t> CopyStream::Copy(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind) {
  Pending copy{.number = asked_ + 1,
               .copied = nullptr,
               .recorded = recorded_,
               .to = to,
               .from = from,
               .bytes = bytes,
               .kind = kind};
  if (gdr_ == nullptr || bytes > kGdrCopyBytesMax) {
    if (Status status = Enqueue(copy); !status.ok()) return status;
  }
  pending_.push_back(std::move(copy));
  return ++asked_;
}

Status CopyStream::Enqueue(Pending& copy) {
  const DeviceScope scope(*runtime_, device_);
  if (unused_.empty()) {
    auto made = Event::Create(runtime_, device_);
    if (!made.ok()) return made.status();
    unused_.push_back(std::move(made.value()));
  }
  const CudaError error = runtime_->functions().memcpy_async(copy.to, copy.from, copy.bytes, copy.kind, copies_);
  if (Status status = runtime_->Check("cudaMemcpyAsync", error); !status.ok()) return status;
  if (Status status = unused_.back()->RecordOn(copies_); !status.ok()) return status;
  copy.copied = std::move(unused_.back());
  unused_.pop_back();
  return Status::Ok();
}

Result<std::uint64_t> CopyStream::Completed() {
  if (pending_.empty()) return completed_;
  const DeviceScope scope(*runtime_, device_);
  while (!pending_.empty()) {
    const Result<bool> finished = Finish(pending_.front());
    if (!finished.ok()) return finished.status();
    if (!*finished) break;
    completed_ = pending_.front().number;
    if (pending_.front().copied) unused_.push_back(std::move(pending_.front().copied));
    pending_.pop_front();
  }
  return completed_;
}

Result<bool> CopyStream::Finish(Pending& copy) {
  if (copy.copied) return copy.copied->Done();
  if (copy.recorded) {
    const Result<bool> ready = copy.recorded->Done();
    if (!ready.ok() || !*ready) return ready;
  }
  const bool done = copy.kind == kCudaMemcpyDeviceToHost ? gdr_->FromDevice(copy.to, copy.from, copy.bytes)
                                                         : gdr_->ToDevice(copy.to, copy.from, copy.bytes);
  if (done) return true;
  if (Status status = Enqueue(copy); !status.ok()) return status;
  return false;
}

Status CopyStream::Synchronize() {
  for (;;) {
    const Result<std::uint64_t> completed = Completed();
    if (!completed.ok()) return completed.status();
    if (pending_.empty()) return Status::Ok();
    const Pending& first = pending_.front();
    if (Status status = (first.copied ? first.copied.get() : first.recorded.get())->Wait(); !status.ok()) return status;
  }
}

Status CopyStream::NotifyOnce(void (*call)(void*), void* argument) {
  if (pending_.empty() || notified_ == pending_.front().number) return Status::Ok();
  const Pending& first = pending_.front();
  if (!first.copied && !first.recorded) {  // Completed would do it now
    call(argument);
    return Status::Ok();
  }
  const DeviceScope scope(*runtime_, device_);
  const EventHandle event = (first.copied ? first.copied.get() : first.recorded.get())->handle();
  const CudaError waits = runtime_->functions().stream_wait_event(notices_, event, 0);
  if (Status status = runtime_->Check("cudaStreamWaitEvent", waits); !status.ok()) return status;
  const CudaError calls = runtime_->functions().launch_host_func(notices_, call, argument);
  if (Status status = runtime_->Check("cudaLaunchHostFunc", calls); !status.ok()) return status;
  notified_ = first.number;
  return Status::Ok();
}

}  // namespace glim::device
