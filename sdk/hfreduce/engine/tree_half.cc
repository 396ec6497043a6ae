#include "sdk/hfreduce/engine/tree_half.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace glim::hfreduce {
namespace {

Status Unexpected(const MessageHeader& header, std::uint32_t chunk, std::size_t bytes) {
  return Status(StatusCode::kInvalidArgument,
                "sent chunk " + std::to_string(header.chunk) + " of " + std::to_string(header.bytes) +
                    " bytes where chunk " + std::to_string(chunk) + " of " + std::to_string(bytes) + " bytes was due");
}

}  // namespace

TreeHalf::TreeHalf(const OperationSetup& setup, int half)
    : setup_(setup),
      half_(half),
      chunks_(setup.chunking.ChunksOf(half)),
      reduces_(setup.signature.kind != Collective::kBroadcast),
      spreads_(setup.signature.kind != Collective::kReduce) {
  std::optional<NodeIndex> root;
  if (!(reduces_ && spreads_)) root = setup.routes.topology().NodeOf(setup.signature.root);
  const TreeRoute route = setup.routes.InTree(half, root);
  toward_ = route.toward;
  for (const TreeEdge& edge : route.away) children_.emplace_back().edge = edge;
  if (!reduces_ && toward_.has_value()) reduced_ = raised_ = raised_sent_ = chunks_;
}

void TreeHalf::Start(Lanes& lanes) {
  lanes_ = &lanes;
  if (reduces_ && toward_.has_value()) lanes.Claim(setup_.number, toward_->node, toward_->sends, chunks_);
  if (!spreads_) return;
  for (const Child& child : children_) lanes.Claim(setup_.number, child.edge.node, child.edge.sends, chunks_);
}

// Results first: they are nearer to the end, free credits and need no reduction.
bool TreeHalf::Poll() {
  bool any = TakeResults();
  any |= SendDown();
  any |= ReduceOne();
  any |= SendUp();
  if (root()) any |= SendDown();
  any |= Finish();
  return any;
}

std::size_t TreeHalf::BytesOf(std::uint32_t chunk) const {
  return setup_.chunking.RangeOf(half_, chunk).count * SizeOf(setup_.args.type);
}

MessageHeader TreeHalf::HeaderOf(std::uint32_t chunk, Stream stream) const {
  return {.operation = setup_.number,
          .signature = Pack(setup_.signature),
          .chunk = chunk,
          .bytes = static_cast<std::uint32_t>(BytesOf(chunk)),
          .stream = stream};
}

bool TreeHalf::AllArrived() const {
  return !reduces_ ||
         std::all_of(children_.begin(), children_.end(), [](const Child& c) { return !c.arrived.empty(); });
}

// One call for the whole node, so that narrow types are rounded once; one chunk a time, so that the network gets its
// turn.
bool TreeHalf::ReduceOne() {
  if (reduced_ == chunks_ || !AllArrived() || !setup_.local.Delivered(half_, reduced_)) return false;
  const std::span<const void* const> local = setup_.local.Sources(half_, reduced_);
  single_source_ = local.size() == 1;
  const std::size_t count = setup_.chunking.RangeOf(half_, reduced_).count;
  if (!sends_source() && count > 0) {
    std::byte* const destination = setup_.local.Destination(half_, reduced_);
    if (destination == nullptr) return false;
    sources_.assign(local.begin(), local.end());
    if (reduces_) {
      for (const Child& child : children_) sources_.push_back(child.arrived.front().payload.data());
    }
    ReduceArgs args = setup_.args;
    if (!root() || !reduces_) args.divisor = 1;
    // The result of a node alone may lie there already.
    const bool in_place = sources_.size() == 1 && sources_[0] == destination && args.divisor == 1;
    if (!in_place) Reduce(args, destination, sources_, count);
  }
  if (reduces_) {
    for (Child& child : children_) {
      const Arrival& arrival = child.arrived.front();
      if (arrival.slot != kNoSlot) lanes_->Release(child.edge.node, child.edge.receives, arrival.slot);
      child.arrived.pop_front();
    }
  }
  if (!sends_source()) setup_.local.SourcesRead(half_, reduced_);
  ++reduced_;
  if (root()) ++results_;
  return true;
}

bool TreeHalf::SendUp() {
  const std::uint32_t before = raised_;
  for (; raised_ < reduced_; ++raised_) {
    if (root()) continue;
    const void* data =
        sends_source() ? setup_.local.Sources(half_, raised_)[0] : setup_.local.Destination(half_, raised_);
    const std::span payload(static_cast<const std::byte*>(data), BytesOf(raised_));
    if (!lanes_->TrySend(toward_->node, HeaderOf(raised_, toward_->sends), payload)) break;
  }
  return raised_ != before;
}

// A result that found no destination when it came lies in a slot.
bool TreeHalf::TakeResults() {
  const std::uint32_t before = results_;
  for (; !results_arrived_.empty(); ++results_) {
    const Arrival& arrival = results_arrived_.front();
    if (arrival.slot != kNoSlot) {
      if (!arrival.payload.empty()) {
        std::byte* const destination = setup_.local.Destination(half_, results_);
        if (destination == nullptr) break;
        std::memcpy(destination, arrival.payload.data(), arrival.payload.size());
      }
      lanes_->Release(toward_->node, toward_->receives, arrival.slot);
    }
    results_arrived_.pop_front();
  }
  return results_ != before;
}

bool TreeHalf::SendDown() {
  if (!spreads_) return false;
  bool any = false;
  for (Child& child : children_) {
    for (; child.taken < results_; ++child.taken) {
      const std::span payload(setup_.local.Destination(half_, child.taken), BytesOf(child.taken));
      if (!lanes_->TrySend(child.edge.node, HeaderOf(child.taken, child.edge.sends), payload)) break;
      any = true;
    }
  }
  return any;
}

// A chunk's memory is the local processes' again once no message reads it.
bool TreeHalf::Finish() {
  std::uint32_t end = root() ? results_ : raised_sent_;
  if (results_come()) end = std::min(end, results_);
  if (spreads_) {
    for (const Child& child : children_) end = std::min(end, child.sent);
  }
  const bool any = end > done_;
  for (; done_ < end; ++done_) setup_.local.Done(half_, done_);
  return any;
}

std::byte* TreeHalf::Landing(NodeIndex from, const MessageHeader& header) {
  if (!results_come() || from != toward_->node || header.stream != toward_->receives) return nullptr;
  if (header.chunk < received_ || header.chunk >= raised_) return nullptr;
  if (header.bytes != BytesOf(header.chunk) || header.bytes == 0) return nullptr;
  return setup_.local.Destination(half_, header.chunk);
}

Status TreeHalf::Received(NodeIndex from, const Arrival& arrival) {
  const MessageHeader& header = arrival.header;
  std::uint32_t* next = nullptr;
  std::deque<Arrival>* arrived = nullptr;
  std::uint32_t limit = chunks_;
  if (results_come() && from == toward_->node && header.stream == toward_->receives) {
    next = &received_;
    arrived = &results_arrived_;
    limit = raised_;  // there is no result without this node's part
  }
  for (Child& child : children_) {
    if (!reduces_ || from != child.edge.node || header.stream != child.edge.receives) continue;
    next = &child.received;
    arrived = &child.arrived;
  }
  if (next == nullptr) return Status(StatusCode::kInvalidArgument, "sent a message where none was due");
  const std::size_t bytes = *next < limit ? BytesOf(*next) : 0;
  if (*next >= limit || header.chunk != *next || header.bytes != bytes || arrival.payload.size() != bytes) {
    return Unexpected(header, *next, bytes);
  }
  ++*next;
  arrived->push_back(arrival);
  return Status::Ok();
}

void TreeHalf::Sent(NodeIndex to, const MessageHeader&) {
  if (toward_.has_value() && to == toward_->node) {
    if (sends_source()) setup_.local.SourcesRead(half_, raised_sent_);
    ++raised_sent_;
    return;
  }
  for (Child& child : children_) {
    if (child.edge.node == to) ++child.sent;
  }
}

bool TreeHalf::Needs(NodeIndex peer) const {
  if (toward_.has_value() && peer == toward_->node) {
    return raised_sent_ < chunks_ || (results_come() && received_ < chunks_);
  }
  for (const Child& child : children_) {
    if (child.edge.node != peer) continue;
    return (reduces_ && child.received < chunks_) || (spreads_ && child.sent < chunks_);
  }
  return false;
}

std::optional<Waits> TreeHalf::WaitsFor() const {
  if (done()) return std::nullopt;
  Waits waits;
  if (reduced_ == done_) {
    if (!setup_.local.Delivered(half_, reduced_)) return Waits{.local = true, .nodes = {}};
    for (const Child& child : children_) {
      if (reduces_ && child.arrived.empty()) waits.nodes.push_back(child.edge.node);
    }
  } else if (!root() && (raised_sent_ == done_ || (results_come() && received_ == done_))) {
    waits.nodes.push_back(toward_->node);
  } else if (results_ != done_) {
    for (const Child& child : children_) {
      if (child.sent == done_) waits.nodes.push_back(child.edge.node);
    }
  }
  waits.local = waits.nodes.empty();  // there is no destination yet
  return waits;
}

}  // namespace glim::hfreduce
