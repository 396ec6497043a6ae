#include "sdk/hfreduce/transport/probe.h"

#include <poll.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace glim::hfreduce {
namespace {

constexpr std::size_t kBytes = 8192;
constexpr std::uint64_t kOperation = 0;  // a communicator's own are counted from 1
constexpr Duration kSleep = Milliseconds(20);

class Listener final : public Receiver {
 public:
  Listener(Transport& transport, std::span<const NodeIndex> peers)
      : transport_(transport), unheard_(peers.begin(), peers.end()), unsent_(peers.begin(), peers.end()) {}

  std::byte* Landing(NodeIndex, const MessageHeader&) override { return nullptr; }
  void Received(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload, SlotId slot) override {
    const bool whole = header.operation == kOperation && payload.size() == kBytes &&
                       std::all_of(payload.begin(), payload.end(), [](std::byte b) { return b == std::byte{0x5a}; });
    if (!whole) Failed(from, "other bytes came than were sent");
    if (slot != kNoSlot) transport_.Release(from, header.stream, slot);
    unheard_.erase(from);
  }
  void Sent(NodeIndex to, const MessageHeader&) override { unsent_.erase(to); }
  void Failed(NodeIndex peer, const std::string& why) override {
    failure_ += (failure_.empty() ? "" : "; ") + ("node " + std::to_string(peer) + ": " + why);
  }

  bool done() const { return unheard_.empty() && unsent_.empty(); }
  const std::string& failure() const { return failure_; }
  std::string Missing() const {
    std::set<NodeIndex> missing = unheard_;
    missing.insert(unsent_.begin(), unsent_.end());
    std::string text;
    for (const NodeIndex node : missing) text += (text.empty() ? "node " : ", node ") + std::to_string(node);
    return text;
  }

 private:
  Transport& transport_;
  std::set<NodeIndex> unheard_, unsent_;
  std::string failure_;
};

}  // namespace

Status Probe(Transport& transport, std::span<const NodeIndex> peers, const net::Deadline& deadline) {
  // A transport that failed may read this until it is destroyed.
  static const std::vector<std::byte> payload(kBytes, std::byte{0x5a});
  const MessageHeader header{
      .operation = kOperation, .signature = 0, .chunk = 0, .bytes = kBytes, .stream = Stream::kDirect};
  Listener listener(transport, peers);
  // A fresh transport has credit.
  for (const NodeIndex peer : peers) (void)transport.TrySend(peer, header, payload);
  while (!listener.done()) {
    const bool any = transport.Progress(listener);
    if (!listener.failure().empty()) return {StatusCode::kUnavailable, listener.failure()};
    if (deadline.Passed()) return {StatusCode::kUnavailable, "no message went to and from " + listener.Missing()};
    if (any || !transport.Arm()) continue;
    pollfd waiting{transport.EventDescriptor(), POLLIN, 0};
    (void)::poll(&waiting, 1, deadline.PollTimeout(kSleep));
  }
  return Status::Ok();
}

}  // namespace glim::hfreduce
