#include "sdk/hfreduce/communicator/collectives.h"

#include <cstring>
#include <new>
#include <utility>

namespace glim::hfreduce {
namespace {

Status Wrong(const char* field, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kInvalidArgument, std::string(field) + " " + what).WithField(field).WithFix(fix);
}

Status CheckSizes(std::size_t in, std::size_t out, DType type) {
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

Handle Collectives::Submit(Request request) {
  if (!request.completion) request.completion = std::make_shared<Completion>(1);
  std::shared_ptr<Completion> completion = request.completion;
  driver_->Submit(std::move(request));
  return {std::move(completion), driver_.get()};
}

Handle Collectives::AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) {
  if (Status status = CheckSizes(in.size(), out.size(), type); !status.ok()) return Refused(std::move(status));
  return Submit({.signature = {.kind = OperationKind::kAllReduce, .type = type, .op = op,
                               .count = in.size() / SizeOf(type)},
                 .moves = type,
                 .in = in.data(),
                 .out = out.data()});
}

Handle Collectives::AllReduceShared(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                                    std::span<const std::byte>* result) {
  if (topology_.nodes.size() > 1) {
    return Refused(Status(StatusCode::kUnimplemented, "one shared result of several nodes").WithFix("use AllReduce"));
  }
  if (Status status = CheckSizes(in.size(), rank_ == 0 ? out.size() : in.size(), type); !status.ok()) {
    return Refused(std::move(status));
  }
  return Submit({.signature = {.kind = OperationKind::kAllReduce, .type = type, .op = op,
                               .count = in.size() / SizeOf(type)},
                 .moves = type,
                 .in = in.data(),
                 .out = rank_ == 0 ? out.data() : nullptr,
                 .one_result = true,
                 .result = result});
}

Handle Collectives::Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                           std::uint32_t root) {
  if (root >= size()) return Refused(Wrong("root", "is " + std::to_string(root), "use a rank of the communicator"));
  if (Status status = CheckSizes(in.size(), rank_ == root ? out.size() : in.size(), type); !status.ok()) {
    return Refused(std::move(status));
  }
  return Submit({.signature = {.kind = OperationKind::kReduce, .type = type, .op = op, .root = root,
                               .count = in.size() / SizeOf(type)},
                 .moves = type,
                 .in = in.data(),
                 .out = out.data()});
}

Handle Collectives::Broadcast(std::span<std::byte> buffer, std::uint32_t root) {
  if (root >= size()) return Refused(Wrong("root", "is " + std::to_string(root), "use a rank of the communicator"));
  return Submit({.signature = {.kind = OperationKind::kBroadcast, .root = root, .count = buffer.size()},
                 .moves = DType::kFloat8E4M3,
                 .in = buffer.data(),
                 .out = buffer.data()});
}

Handle Collectives::AllGather(std::span<const std::byte> in, std::span<std::byte> out) {
  if (out.size() < in.size() * size()) {
    return Refused(Wrong("out", "has " + std::to_string(out.size()) + " bytes for " + std::to_string(size()) +
                                    " times " + std::to_string(in.size()),
                         "make room for every rank's part"));
  }
  std::byte* own = out.data() + rank_ * in.size();
  if (own != in.data() && !in.empty()) std::memmove(own, in.data(), in.size());
  auto completion = std::make_shared<Completion>(static_cast<int>(size()));
  for (std::uint32_t root = 0; root < size(); ++root) {
    std::byte* part = out.data() + root * in.size();
    Submit({.signature = {.kind = OperationKind::kBroadcast, .root = root, .count = in.size()},
            .moves = DType::kFloat8E4M3,
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
  if (Status status = CheckSizes(part, out.size(), type); !status.ok()) return Refused(std::move(status));
  auto completion = std::make_shared<Completion>(static_cast<int>(size()));
  for (std::uint32_t root = 0; root < size(); ++root) {
    Submit({.signature = {.kind = OperationKind::kReduce, .type = type, .op = op, .root = root,
                          .count = part / SizeOf(type)},
            .moves = type,
            .in = in.data() + root * part,
            .out = out.data(),
            .completion = completion});
  }
  return {std::move(completion), driver_.get()};
}

Handle Collectives::Barrier() {
  auto word = std::make_shared<std::int32_t>(0);
  auto* bytes = reinterpret_cast<std::byte*>(word.get());
  return Submit({.signature = {.kind = OperationKind::kBarrier, .type = DType::kInt32, .count = 1},
                 .moves = DType::kInt32,
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
