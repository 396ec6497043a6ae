#include "sdk/hfreduce/engine/testing/sim_transport.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

constexpr std::byte kRubbish{0xee};

}  // namespace

// What is on its way to a node lies with that node.
class SimTransport final : public Transport {
 public:
  SimTransport(SimNetwork& network, NodeIndex self, std::vector<NodeIndex> neighbours)
      : network_(network), self_(self), neighbours_(std::move(neighbours)) {}

  bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) override;
  void Release(NodeIndex from, Stream stream, SlotId slot) override;
  bool Progress(Receiver& receiver) override;
  void LingerFor(Duration) override {}  // nobody's end takes time here
  int EventDescriptor() const override { return -1; }
  bool Arm() override { return true; }
  std::uint64_t BytesSentTo(NodeIndex peer) const override { return network_.PayloadBytes(self_, peer); }
  const char* Name() const override { return "sim"; }
  std::size_t MessageBytesMax() const override { return std::size_t{1} << 20; }

  const std::vector<NodeIndex>& neighbours() const { return neighbours_; }
  void PeerEnded(NodeIndex peer, const std::string& why, bool orderly);

 private:
  struct Message {
    MessageHeader header;
    std::span<const std::byte> payload;
    std::vector<std::byte> copy;  // of kControl, and of what a node has left behind
    bool announced = false;       // Landing was called
    std::byte* landing = nullptr;
  };
  using Lane = std::pair<NodeIndex, Stream>;

  SimTransport& peer(NodeIndex node) { return *network_.transports_[node]; }
  void Deliver(Receiver& receiver, NodeIndex from, std::deque<Message>& queue);
  void ReturnCredit(NodeIndex from, Stream stream);
  bool ReportSent(Receiver& receiver);
  bool TakeCredits();
  bool ReportDeath(Receiver& receiver);

  SimNetwork& network_;
  NodeIndex self_;
  std::vector<NodeIndex> neighbours_;
  std::map<Lane, std::deque<Message>> incoming_;
  std::map<Lane, std::deque<MessageHeader>> sent_;  // to be reported
  std::vector<Lane> returning_;                     // credits on their way to this node
  std::map<SlotId, std::pair<Lane, std::vector<std::byte>>> slots_;
  SlotId next_slot_ = 0;
  std::map<NodeIndex, std::string> dying_;
  std::set<NodeIndex> dead_;
};

bool SimTransport::TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) {
  GLIM_CHECK(std::count(neighbours_.begin(), neighbours_.end(), to) == 1, "no connection to this node");
  GLIM_CHECK(header.bytes == payload.size(), "a header that lies about its payload");
  if (dead_.contains(to)) return false;
  Message message{.header = header, .payload = payload, .copy = {}};
  if (header.stream == Stream::kControl) {
    message.copy.assign(payload.begin(), payload.end());
    message.payload = message.copy;
  } else {
    std::uint32_t& in_flight = network_.in_flight_[{self_, to, header.stream}];
    if (in_flight == kCredits) return false;
    network_.most_in_flight_ = std::max(network_.most_in_flight_, ++in_flight);
    network_.payload_bytes_[{self_, to}] += payload.size();
  }
  peer(to).incoming_[{self_, header.stream}].push_back(std::move(message));
  return true;
}

void SimTransport::Release(NodeIndex from, Stream stream, SlotId slot) {
  const auto it = slots_.find(slot);
  GLIM_CHECK(it != slots_.end() && it->second.first == Lane(from, stream), "a slot that is not held");
  slots_.erase(it);
  ReturnCredit(from, stream);
}

void SimTransport::ReturnCredit(NodeIndex from, Stream stream) {
  if (stream != Stream::kControl) peer(from).returning_.push_back({self_, stream});
}

bool SimTransport::Progress(Receiver& receiver) {
  bool any = ReportSent(receiver);
  any |= TakeCredits();
  std::vector<Lane> ready;
  for (const auto& [lane, queue] : incoming_) {
    if (!queue.empty() && !dead_.contains(lane.first)) ready.push_back(lane);
  }
  if (!ready.empty() && !network_.rng_.OneIn(4)) {
    const Lane lane = ready[network_.rng_.Next() % ready.size()];
    Deliver(receiver, lane.first, incoming_[lane]);
    any = true;
  }
  return ReportDeath(receiver) || any || !ready.empty();
}

// A node that closed in order had everything sent but its last control messages; what it gave up is not sent any more.
void SimTransport::PeerEnded(NodeIndex node, const std::string& why, bool orderly) {
  dying_[node] = why;
  for (auto& [lane, queue] : incoming_) {
    if (lane.first != node) continue;
    if (!orderly) queue.resize(network_.rng_.Next() % (queue.size() + 1));
    if (orderly && lane.second != Stream::kControl) queue.clear();
    for (Message& message : queue) {
      message.copy.assign(message.payload.begin(), message.payload.end());
      message.payload = message.copy;
    }
  }
}

// In two parts, with other things between: the header is here, the payload is here.
void SimTransport::Deliver(Receiver& receiver, NodeIndex from, std::deque<Message>& queue) {
  Message& first = queue.front();
  const MessageHeader header = first.header;
  if (!first.announced) {
    first.announced = true;
    first.landing = receiver.Landing(from, header);
    if (first.landing != nullptr) std::fill_n(first.landing, header.bytes, kRubbish);
    return;
  }
  const Message message = std::move(first);  // `payload` may be its `copy`, which keeps its place
  queue.pop_front();
  const std::span<const std::byte> bytes = message.payload;
  peer(from).sent_[{self_, header.stream}].push_back(header);
  if (message.landing != nullptr) {
    // The sender's own landing may be the same memory by now, as in a real network: it was read before.
    std::memmove(message.landing, bytes.data(), bytes.size());
    ReturnCredit(from, header.stream);
    receiver.Received(from, header, {message.landing, bytes.size()}, kNoSlot);
    return;
  }
  const SlotId slot = next_slot_++;
  auto& [lane, copy] = slots_[slot];
  lane = {from, header.stream};
  copy.assign(bytes.begin(), bytes.end());
  receiver.Received(from, header, copy, slot);
}

bool SimTransport::ReportSent(Receiver& receiver) {
  bool any = false;
  for (auto& [lane, headers] : sent_) {
    if (headers.empty() || dead_.contains(lane.first) || network_.rng_.OneIn(2)) continue;
    const MessageHeader header = headers.front();
    headers.pop_front();
    receiver.Sent(lane.first, header);
    any = true;
  }
  return any;
}

bool SimTransport::TakeCredits() {
  bool any = false;
  for (std::size_t i = 0; i < returning_.size();) {
    const auto [to, stream] = returning_[i];
    if (network_.withheld_(self_, to, stream) || network_.rng_.OneIn(2)) {
      ++i;
      continue;
    }
    --network_.in_flight_[{self_, to, stream}];
    returning_[i] = returning_.back();
    returning_.pop_back();
    any = true;
  }
  return any;
}

bool SimTransport::ReportDeath(Receiver& receiver) {
  if (dying_.empty()) return false;
  const auto [node, why] = *dying_.begin();
  for (const auto& [lane, queue] : incoming_) {
    if (lane.first == node && !queue.empty()) return true;
  }
  if (!network_.rng_.OneIn(8)) return true;
  dying_.erase(dying_.begin());
  dead_.insert(node);
  receiver.Failed(node, why);
  return true;
}

SimNetwork::SimNetwork(std::vector<std::vector<NodeIndex>> neighbours, std::uint64_t seed) : rng_(seed) {
  for (NodeIndex node = 0; node < neighbours.size(); ++node) {
    transports_.push_back(std::make_unique<SimTransport>(*this, node, std::move(neighbours[node])));
  }
}

SimNetwork::~SimNetwork() = default;

Transport& SimNetwork::transport(NodeIndex node) { return *transports_[node]; }

void SimNetwork::Kill(NodeIndex node, const std::string& why) {
  for (const NodeIndex peer : transports_[node]->neighbours()) transports_[peer]->PeerEnded(node, why, false);
}

void SimNetwork::Disconnect(NodeIndex node) {
  for (const NodeIndex peer : transports_[node]->neighbours()) {
    transports_[peer]->PeerEnded(node, "connection closed", true);
  }
}

std::uint64_t SimNetwork::PayloadBytes(NodeIndex from, NodeIndex to) const {
  const auto it = payload_bytes_.find({from, to});
  return it == payload_bytes_.end() ? 0 : it->second;
}

}  // namespace glim::hfreduce
