#include "sdk/hfreduce/engine/tree_operation.h"

#include <optional>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

// None: of no tree.
std::optional<int> TreeOf(Stream stream) {
  switch (stream) {
    case Stream::kUp0:
    case Stream::kDown0: return 0;
    case Stream::kUp1:
    case Stream::kDown1: return 1;
    case Stream::kDirect:
    case Stream::kControl: break;
  }
  return std::nullopt;
}

}  // namespace

TreeOperation::TreeOperation(const OperationSetup& setup)
    : Operation(setup), halves_{TreeHalf(setup, 0), TreeHalf(setup, 1)} {
  const Collective kind = setup.signature.kind;
  GLIM_CHECK(kind == Collective::kAllReduce || kind == Collective::kReduce || kind == Collective::kBroadcast,
             "no way through a tree");
}

void TreeOperation::Start(Lanes& lanes) {
  for (TreeHalf& half : halves_) half.Start(lanes);
}

bool TreeOperation::Poll() {
  const bool first = halves_[0].Poll();
  return halves_[1].Poll() || first;
}

std::byte* TreeOperation::Landing(NodeIndex from, const MessageHeader& header) {
  const std::optional<int> tree = TreeOf(header.stream);
  return tree.has_value() ? halves_[*tree].Landing(from, header) : nullptr;
}

Status TreeOperation::Received(NodeIndex from, const Arrival& arrival) {
  const std::optional<int> tree = TreeOf(arrival.header.stream);
  if (!tree.has_value()) {
    return Status(StatusCode::kInvalidArgument, "took the latency path where this node took the trees");
  }
  return halves_[*tree].Received(from, arrival);
}

void TreeOperation::Sent(NodeIndex to, const MessageHeader& header) {
  halves_[*TreeOf(header.stream)].Sent(to, header);
}

// A half that waits for other nodes explains why the processes of this one deliver no more to the other half: they may
// wait for room.
Waits TreeOperation::WaitsFor() const {
  Waits waits{.local = true, .nodes = {}};
  for (const TreeHalf& half : halves_) {
    const std::optional<Waits> of_half = half.WaitsFor();
    if (!of_half.has_value()) continue;
    waits.local = waits.local && of_half->local;
    waits.nodes.insert(waits.nodes.end(), of_half->nodes.begin(), of_half->nodes.end());
  }
  return waits;
}

}  // namespace glim::hfreduce
