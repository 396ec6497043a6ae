#include "sdk/hfreduce/communicator/collectives.h"

#include <cstring>
#include <new>
#include <utility>

#include "sdk/hfreduce/communicator/wrong.h"

namespace glim::hfreduce {
namespace {

Status CheckElements(std::size_t in, std::size_t out, DType type) {
  if (!IsReducible(type)) {
    return Wrong("dtype", "is " + std::string(NameOf(type)) + ", which cannot be reduced",
                 "use fp32, fp64, fp16, bf16, fp8_e4m3, fp8_e5m2, int32 or int64");
  }
  if (in % SizeOf(type) != 0) {
    return Wrong("in", "has " + std::to_string(in) + " bytes, no whole number of " + std::string(NameOf(type)),
                 "give whole elements");
  }
  if (out < in) {
    return Wrong("out", "has " + std::to_string(out) + " bytes for " + std::to_string(in), "make it as large as in");
  }
  if (in / SizeOf(type) > kCountMax) return Wrong("in", "has too many elements", "cut it into several operations");
  return Status::Ok();
}

}  // namespace

Status Handle::Wait() { return driver_ != nullptr ? driver_->Wait(*completion_) : completion_->status(); }
bool Handle::Done() const { return completion_->done(); }

Handle Collectives::Refused(Status status) {
  auto completion = std::make_shared<Completion>(1);
  completion->Finish(status);
  return {std::move(completion), nullptr};
}

Status Collectives::SetBufferPlace(const BufferPlace& place) {
  if (place.kind == BufferPlace::Kind::kDevice && device_ == nullptr) {
    return Status(StatusCode::kFailedPrecondition, "this process had no CUDA runtime when the communicator was made")
        .WithField("place")
        .WithFix("make it after the device is in use, or give CommunicatorOptions::cuda_runtime");
  }
  place_ = place;
  return Status::Ok();
}

Status Collectives::Place(Request& request) const {
  using Kind = BufferPlace::Kind;
  if (device_ == nullptr || place_.kind == Kind::kHost || request.barrier || request.signature.bytes() == 0)
    return Status::Ok();
  OnDevice& there = request.on_device;
  if (place_.kind == Kind::kDevice) {
    there = {.in = true, .out = true, .device = place_.device};
  } else {
    const device::PointerPlace in = device_->runtime().Find(request.in);
    const device::PointerPlace out = device_->runtime().Find(request.out);
    there = {.in = in.on_device, .out = out.on_device, .device = in.on_device ? in.device : out.device};
  }
  if (!there.in && !there.out) return Status::Ok();
  auto ready = device::Event::Record(device_->shared_runtime(), there.device, place_.compute_stream);
  if (!ready.ok()) return ready.status();
  there.ready = std::move(ready.value());
  return Status::Ok();
}

Status Collectives::CopyOwnPart(std::byte* to, std::span<const std::byte> from) const {
  if (to == from.data() || from.empty()) return Status::Ok();
  Request request{.signature = {.kind = Collective::kBroadcast, .count = from.size()}, .in = from.data(), .out = to};
  if (Status status = Place(request); !status.ok()) return status;
  if (request.on_device.in != request.on_device.out) {
    return Wrong("out", "is on a device and in is not, or the other way round", "use one place for both");
  }
  if (!request.on_device.in) {
    std::memmove(to, from.data(), from.size());
    return Status::Ok();
  }
  // On the compute stream: in its order, like the copy that the caller would have made.
  const device::Runtime& runtime = device_->runtime();
  return runtime.Check("cudaMemcpyAsync",
                       runtime.functions().memcpy_async(to, from.data(), from.size(), device::kCudaMemcpyDefault,
                                                        place_.compute_stream));
}

Handle Collectives::Submit(Request request) {
  if (!request.completion) request.completion = std::make_shared<Completion>(1);
  std::shared_ptr<Completion> completion = request.completion;
  if (Status status = Place(request); !status.ok()) {  // the device's runtime failed: that is for good
    completion->Finish(status);
    driver_->Abort("rank " + std::to_string(rank_) + ": " + status.message());
    return {std::move(completion), nullptr};
  }
  driver_->Submit(std::move(request));
  return {std::move(completion), driver_.get()};
}

Handle Collectives::AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) {
  if (Status status = CheckElements(in.size(), out.size(), type); !status.ok()) return Refused(std::move(status));
  return Submit(
      {.signature = {.kind = Collective::kAllReduce, .type = type, .op = op, .count = in.size() / SizeOf(type)},
       .in = in.data(),
       .out = out.data()});
}

Handle Collectives::AllReduceShared(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                                    std::span<const std::byte>* result) {
  if (topology_.nodes.size() > 1) {
    return Refused(Status(StatusCode::kUnimplemented, "one shared result of several nodes").WithFix("use AllReduce"));
  }
  if (Status status = CheckElements(in.size(), rank_ == 0 ? out.size() : in.size(), type); !status.ok()) {
    return Refused(std::move(status));
  }
  return Submit(
      {.signature = {.kind = Collective::kAllReduce, .type = type, .op = op, .count = in.size() / SizeOf(type)},
       .in = in.data(),
       .out = rank_ == 0 ? out.data() : nullptr,
       .one_result = true,
       .result = result});
}

Handle Collectives::Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                           std::uint32_t root) {
  if (root >= size()) return Refused(Wrong("root", "is " + std::to_string(root), "use a rank of the communicator"));
  if (Status status = CheckElements(in.size(), rank_ == root ? out.size() : in.size(), type); !status.ok()) {
    return Refused(std::move(status));
  }
  return Submit(
      {.signature =
           {.kind = Collective::kReduce, .type = type, .op = op, .root = root, .count = in.size() / SizeOf(type)},
       .in = in.data(),
       .out = out.data()});
}

Handle Collectives::Broadcast(std::span<std::byte> buffer, std::uint32_t root) {
  if (root >= size()) return Refused(Wrong("root", "is " + std::to_string(root), "use a rank of the communicator"));
  return Submit({.signature = {.kind = Collective::kBroadcast, .root = root, .count = buffer.size()},
                 .in = buffer.data(),
                 .out = buffer.data()});
}

Handle Collectives::AllGather(std::span<const std::byte> in, std::span<std::byte> out) {
  if (out.size() < in.size() * size()) {
    return Refused(Wrong("out",
                         "has " + std::to_string(out.size()) + " bytes for " + std::to_string(size()) + " times " +
                             std::to_string(in.size()),
                         "make room for every rank's part"));
  }
  if (Status status = CopyOwnPart(out.data() + rank_ * in.size(), in); !status.ok()) return Refused(std::move(status));
  auto completion = std::make_shared<Completion>(static_cast<int>(size()));
  for (std::uint32_t root = 0; root < size(); ++root) {
    std::byte* part = out.data() + root * in.size();
    Submit({.signature = {.kind = Collective::kBroadcast, .root = root, .count = in.size()},
            .in = part,
            .out = part,
            .completion = completion});
  }
  return {std::move(completion), driver_.get()};
}

Handle Collectives::ReduceScatter(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) {
  const std::size_t part = in.size() / size();
  if (part * size() != in.size()) {
    return Refused(Wrong("in", "has " + std::to_string(in.size()) + " bytes for " + std::to_string(size()) + " ranks",
                         "give every rank an equal part"));
  }
  if (Status status = CheckElements(part, out.size(), type); !status.ok()) return Refused(std::move(status));
  auto completion = std::make_shared<Completion>(static_cast<int>(size()));
  for (std::uint32_t root = 0; root < size(); ++root) {
    Submit(
        {.signature = {.kind = Collective::kReduce, .type = type, .op = op, .root = root, .count = part / SizeOf(type)},
         .in = in.data() + root * part,
         .out = out.data(),
         .completion = completion});
  }
  return {std::move(completion), driver_.get()};
}

Handle Collectives::Barrier() {
  auto word = std::make_shared<std::int32_t>(0);
  auto* bytes = reinterpret_cast<std::byte*>(word.get());
  return Submit({.signature = {.kind = Collective::kBarrier, .type = DType::kI32, .count = 1},
                 .in = bytes,
                 .out = bytes,
                 .barrier = std::move(word)});
}

Result<std::span<std::byte>> Collectives::Allocate(std::size_t bytes) {
  if (segment_) return segment_->Allocate(bytes);
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (!memory) return Status(StatusCode::kResourceExhausted, "no memory for " + std::to_string(bytes) + " bytes");
  allocated_.push_back(std::move(memory));
  return std::span(allocated_.back().get(), bytes);
}

std::uint64_t Collectives::BytesSentTo(std::uint32_t node) const {
  if (leader_ == nullptr) return 0;
  return driver_->WithLock([&] { return leader_->BytesSentTo(node); });
}

}  // namespace glim::hfreduce
