#include "sdk/hfreduce/engine/lanes.h"

#include "sdk/base/check.h"

namespace glim::hfreduce {

void Lanes::Claim(std::uint64_t operation, NodeIndex to, Stream stream, std::uint32_t messages) {
  if (messages == 0) return;
  std::deque<Turn>& turns = turns_[{to, stream}];
  GLIM_CHECK(turns.empty() || turns.back().operation < operation, "claims are made in order of operations");
  turns.push_back({operation, messages});
}

bool Lanes::TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) {
  std::deque<Turn>& turns = turns_[{to, header.stream}];
  GLIM_CHECK(!turns.empty(), "a message that was not claimed");
  Turn& turn = turns.front();
  if (turn.operation != header.operation || !transport_.TrySend(to, header, payload)) return false;
  if (--turn.messages == 0) turns.pop_front();
  return true;
}

}  // namespace glim::hfreduce
