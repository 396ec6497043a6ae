// For tests: nodes with a transport each, driven by the test's own thread, and a receiver that keeps what it is told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/testing/memory_store.h"
#include "sdk/hfreduce/transport/connect_transport.h"
#include "sdk/hfreduce/transport/ucx_transport.h"
#include "sdk/net/rdma.h"

namespace glim::hfreduce {

// One way of moving messages that the contract holds for.
struct Wire {
  const char* name;
  TransportKind kind;
  const char* ucx_tls;
};

inline TransportOptions OptionsOf(const Wire& wire) {
  TransportOptions options;
  options.kind = wire.kind;
  options.id = "contract";
  options.ucx_tls = wire.ucx_tls;
  return options;
}

// RDMA ports of this machine that can be used: two of them are two nodes' on a wire between.
inline std::vector<std::string> PortsHere() {
  std::vector<std::string> ports;
  std::istringstream names(net::UsablePorts(net::RdmaPorts()));
  for (std::string name; std::getline(names, name, ',');) ports.push_back(name);
  return ports;
}

// Every wire that this build and machine have. UCX over shared memory is a case of its own: there a put wakes nobody.
inline std::vector<Wire> Wires() {
  std::vector<Wire> wires{{"tcp", TransportKind::kTcp, ""}};
  if (UcxIsBuilt()) {
    wires.push_back({"ucx_tcp", TransportKind::kUcx, "tcp"});
    wires.push_back({"ucx_shm", TransportKind::kUcx, "posix"});
    if (!PortsHere().empty()) wires.push_back({"verbs", TransportKind::kUcx, "rc"});
  }
  return wires;
}

// Over verbs a test may run on an emulated machine, where a round takes a tenth of a second.
inline std::uint32_t RoundsOver(const Wire& wire, std::uint32_t many, std::uint32_t few) {
  return std::string_view(wire.name) == "verbs" ? few : many;
}

// Over verbs each node has a port of its own, if there are several.
inline TransportOptions OptionsOfNode(TransportOptions options, NodeIndex node) {
  const std::vector<std::string> ports = PortsHere();
  if (options.ucx_tls == "rc" && !ports.empty()) options.ucx_net_devices = ports[node % ports.size()];
  return options;
}

// Bytes that tell from where in which message they are.
inline std::vector<std::byte> Pattern(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::byte> pattern(bytes);
  for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::byte>(seed * 7 + i + (i >> 8) * 13);
  return pattern;
}

inline MessageHeader HeaderOf(Stream stream, std::uint32_t chunk, std::size_t bytes) {
  return {chunk + 1000ULL, ~std::uint64_t{chunk}, chunk, static_cast<std::uint32_t>(bytes), stream};
}

class Recorder final : public Receiver {
 public:
  struct Message {
    NodeIndex from;
    MessageHeader header;
    std::vector<std::byte> payload;  // as it was when it came
    const std::byte* at;
    SlotId slot;
  };

  std::byte* Landing(NodeIndex from, const MessageHeader& header) override {
    return landing ? landing(from, header) : nullptr;
  }
  void Received(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload, SlotId slot) override {
    messages.push_back({from, header, {payload.begin(), payload.end()}, payload.data(), slot});
    if (release && slot != kNoSlot) transport->Release(from, header.stream, slot);
    if (received) received(messages.back());
  }
  void Sent(NodeIndex to, const MessageHeader& header) override { sent.emplace_back(to, header); }
  void Failed(NodeIndex peer, const std::string& why) override { failures.emplace_back(peer, why); }

  std::vector<const Message*> Of(Stream stream) const {
    std::vector<const Message*> found;
    for (const Message& message : messages) {
      if (message.header.stream == stream) found.push_back(&message);
    }
    return found;
  }

  Transport* transport = nullptr;
  bool release = true;  // slots at once
  std::function<std::byte*(NodeIndex, const MessageHeader&)> landing;
  std::function<void(const Message&)> received;
  std::deque<Message> messages;
  std::vector<std::pair<NodeIndex, MessageHeader>> sent;
  std::vector<std::pair<NodeIndex, std::string>> failures;
};

struct TestNode {
  std::unique_ptr<Transport> transport;
  Recorder recorder;
};

// All connected with all. Ends the test program if they cannot be: nothing else could be tested.
inline std::vector<TestNode> ConnectAll(const TransportOptions& options, NodeIndex count) {
  MemoryStore store;
  std::vector<TestNode> nodes(count);
  std::vector<std::thread> threads;
  for (NodeIndex self = 0; self < count; ++self) {
    threads.emplace_back([&, self] {
      std::vector<NodeIndex> peers;
      for (NodeIndex peer = 0; peer < count; ++peer) {
        if (peer != self) peers.push_back(peer);
      }
      auto made = ConnectTransport(OptionsOfNode(options, self), self, peers, store, LongWaitDuration());
      GLIM_CHECK(made.ok(), made.status().message());
      nodes[self].transport = std::move(made).value();
      nodes[self].recorder.transport = nodes[self].transport.get();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return nodes;
}

inline void DestroyTogether(std::vector<TestNode>& nodes) {
  std::vector<std::thread> threads;
  for (TestNode& node : nodes) threads.emplace_back([&node] { node.transport.reset(); });
  for (std::thread& thread : threads) thread.join();
}

// Drives every node until the condition holds. False: it did not, in a long time.
inline bool Until(std::vector<TestNode>& nodes, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + LongWait();
  while (!condition()) {
    bool any = false;
    for (TestNode& node : nodes) {
      if (node.transport && node.transport->Progress(node.recorder)) any = true;
    }
    if (!any) std::this_thread::yield();
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// Until none of them has had anything to do for a while: for what must not happen.
inline void Settle(std::vector<TestNode>& nodes) {
  const auto quiet = std::chrono::milliseconds(20);
  auto last = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - last < quiet) {
    for (TestNode& node : nodes) {
      if (node.transport && node.transport->Progress(node.recorder)) last = std::chrono::steady_clock::now();
    }
  }
}

}  // namespace glim::hfreduce
