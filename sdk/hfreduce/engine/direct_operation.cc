#include "sdk/hfreduce/engine/direct_operation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

using Receives = DirectStep::Receives;

}  // namespace

DirectOperation::DirectOperation(const OperationSetup& setup)
    : Operation(setup), setup_(setup), bytes_(setup.chunking.elements * SizeOf(setup.args.type)) {
  GLIM_CHECK(setup.chunking.ChunksOf(0) == 1 && setup.chunking.ChunksOf(1) == 0, "the latency path takes one chunk");
}

void DirectOperation::Start(Lanes& lanes) {
  lanes_ = &lanes;
  for (const DirectStep& step : steps()) {
    if (step.sends) lanes.Claim(number(), step.peer, Stream::kDirect, 1);
  }
}

bool DirectOperation::Poll() {
  if (done_ || (!local_taken_ && !TakeLocal())) return false;
  while (step_ < steps().size() && TakeStep()) {
  }
  // What is not done now waits for a message, for a credit, or for memory: no second Poll changes that.
  if (step_ < steps().size() || !sending_.empty()) return false;
  setup_.local.Done(0, 0);
  done_ = true;
  return true;
}

bool DirectOperation::TakeLocal() {
  if (!setup_.local.Delivered(0, 0)) return false;
  if (bytes_ > 0) {
    const std::span<const void* const> local = setup_.local.Sources(0, 0);
    const bool last = steps().empty();
    if (local.size() == 1 && !last) {
      value_ = static_cast<const std::byte*>(local[0]);  // goes out from where it lies
    } else {
      std::byte* const to = Room(last);
      if (to == nullptr) return false;
      const bool in_place = local.size() == 1 && local[0] == to && setup_.args.divisor == 1;
      if (in_place) {
        value_ = to;
      } else {
        ReduceInto(to, local, last);
      }
      setup_.local.SourcesRead(0, 0);
    }
  }
  local_taken_ = true;
  return true;
}

bool DirectOperation::TakeStep() {
  const DirectStep& step = steps()[step_];
  if (step.sends && !step_sent_) {
    const MessageHeader header{.operation = number(),
                               .signature = Pack(signature()),
                               .bytes = static_cast<std::uint32_t>(bytes_),
                               .stream = Stream::kDirect};
    if (!lanes_->TrySend(step.peer, header, {value_, bytes_})) return false;
    sending_.emplace(step.peer, value_);
    step_sent_ = true;
  }
  if (step.receives != Receives::kNothing) {
    const auto message = arrived_.find(step.peer);
    if (message == arrived_.end()) return false;
    const Arrival& arrival = message->second;
    if (!(step.receives == Receives::kPart ? AddPart(step, arrival) : TakeResult(arrival))) return false;
    if (arrival.slot != kNoSlot) lanes_->Release(step.peer, Stream::kDirect, arrival.slot);
    arrived_.erase(message);
  }
  ++step_;
  step_sent_ = false;
  return true;
}

bool DirectOperation::AddPart(const DirectStep& step, const Arrival& part) {
  if (bytes_ == 0) return true;
  std::byte* const to = Room(step.last);
  if (to == nullptr) return false;
  std::array<const void*, 2> sources = {value_, part.payload.data()};
  if (!step.mine_first) std::swap(sources[0], sources[1]);
  ReduceInto(to, sources, step.last);
  return true;
}

bool DirectOperation::TakeResult(const Arrival& result) {
  if (bytes_ == 0) return true;
  std::byte* const to = setup_.local.Destination(0, 0);
  if (to == nullptr) return false;
  if (result.slot != kNoSlot) std::memcpy(to, result.payload.data(), bytes_);
  value_ = to;
  return true;
}

std::byte* DirectOperation::Room(bool last) {
  // Where the local source is the destination, a message may still be read from it.
  if (last) return sending_.empty() ? setup_.local.Destination(0, 0) : nullptr;
  if (buffers_ == nullptr) buffers_ = std::make_unique_for_overwrite<std::byte[]>(2 * bytes_);
  std::byte* const room = buffers_.get() + buffer_ * bytes_;
  for (const auto& [peer, payload] : sending_) {
    if (payload == room) return nullptr;
  }
  return room;
}

void DirectOperation::ReduceInto(std::byte* to, std::span<const void* const> sources, bool last) {
  ReduceArgs args = setup_.args;
  if (!last) args.divisor = 1;
  Reduce(args, to, sources, setup_.chunking.elements);
  value_ = to;
  if (!last) buffer_ = 1 - buffer_;
}

std::byte* DirectOperation::Landing(NodeIndex from, const MessageHeader& header) {
  if (!local_taken_ || step_ >= steps().size() || header.stream != Stream::kDirect) return nullptr;
  // The result follows this node's part, which it says is there: nothing is read from the destination any more.
  const DirectStep& step = steps()[step_];
  if (step.peer != from || step.receives != Receives::kResult || header.bytes != bytes_ || bytes_ == 0) return nullptr;
  return setup_.local.Destination(0, 0);
}

Status DirectOperation::Received(NodeIndex from, const Arrival& arrival) {
  const MessageHeader& header = arrival.header;
  if (header.stream != Stream::kDirect) {
    return Status(StatusCode::kInvalidArgument, "took the trees where this node took the latency path");
  }
  const auto due =
      std::find_if(steps().begin() + static_cast<std::ptrdiff_t>(step_), steps().end(),
                   [&](const DirectStep& s) { return s.peer == from && s.receives != Receives::kNothing; });
  if (due == steps().end() || arrived_.contains(from)) {
    return Status(StatusCode::kInvalidArgument, "sent a message where none was due");
  }
  if (header.bytes != bytes_ || arrival.payload.size() != bytes_) {
    return Status(StatusCode::kInvalidArgument,
                  "sent " + std::to_string(header.bytes) + " bytes where " + std::to_string(bytes_) + " were due");
  }
  arrived_.emplace(from, arrival);
  return Status::Ok();
}

void DirectOperation::Sent(NodeIndex to, const MessageHeader&) { sending_.erase(to); }

bool DirectOperation::Needs(NodeIndex peer) const {
  if (sending_.contains(peer)) return true;
  for (std::size_t i = step_; i < steps().size(); ++i) {
    const DirectStep& step = steps()[i];
    if (step.peer != peer) continue;
    if (step.sends && !(i == step_ && step_sent_)) return true;
    if (step.receives != Receives::kNothing && !arrived_.contains(peer)) return true;
  }
  return false;
}

Waits DirectOperation::WaitsFor() const {
  if (!local_taken_) return {.local = true, .nodes = {}};
  Waits waits;
  if (step_ < steps().size()) {
    const DirectStep& step = steps()[step_];
    const bool hears = step.receives == Receives::kNothing || arrived_.contains(step.peer);
    if ((step.sends && !step_sent_) || !hears) waits.nodes.push_back(step.peer);
  }
  if (waits.nodes.empty()) {
    for (const auto& [peer, payload] : sending_) waits.nodes.push_back(peer);
  }
  waits.local = waits.nodes.empty();  // there is no destination yet
  return waits;
}

}  // namespace glim::hfreduce
