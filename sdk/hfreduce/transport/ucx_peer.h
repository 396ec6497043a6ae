// One peer of a UcxTransport.
//
// A small payload travels with its frame in one active message. A larger one is put into the peer's slot, and after a
// fence the count of the slot's uses into the slot's flag; the frame follows in an active message, which also wakes a
// peer that sleeps, since a put wakes nobody. The message has arrived when both frame and flag are there: nothing
// orders an active message after a put on another lane.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/frame.h"
#include "sdk/hfreduce/transport/transport.h"
#include "sdk/net/ucx/endpoint.h"
#include "sdk/net/ucx/memory.h"
#include "sdk/net/ucx/worker.h"

namespace glim::hfreduce {

inline constexpr unsigned kActiveMessage = 1;
// Goes before the frame in an active message: the receiver's number for the edge. Also keeps strangers out.
inline constexpr std::size_t kEdgeNumberBytes = sizeof(std::uint64_t);

// What a node tells a peer about the memory that the peer may write to. Travels through the store.
struct UcxInvitation {
  std::uint64_t edge_number = 0;
  std::uint64_t memory = 0;  // address of the peer's region
  std::string worker;        // address
  std::string rkey;

  std::string Encode() const;
  // In the place of an invitation: why there is none.
  static std::string Refusal(const std::string& why);
  // UNAVAILABLE: a refusal, with its words.
  static Result<UcxInvitation> Decode(const std::string& text);
};

// Not thread-safe; not movable once it has sent. The worker outlives it.
class UcxPeer {
 public:
  explicit UcxPeer(Edge edge) : node_(edge.peer), control_(std::move(edge.socket)) {}
  UcxPeer(const UcxPeer&) = delete;
  UcxPeer& operator=(const UcxPeer&) = delete;

  // Registers the memory that the peer will write to.
  Result<UcxInvitation> Invite(net::ucx::Worker& worker, std::uint64_t edge_number);
  Status Join(net::ucx::Worker& worker, const UcxInvitation& invitation);

  NodeIndex node() const { return node_; }
  int control() const { return control_.get(); }
  std::uint64_t edge_number() const { return edge_number_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  const std::string& broken() const { return broken_; }
  bool failed() const { return failed_; }
  // Frames are here whose messages are not whole, or Sent is to be told.
  bool has_work() const { return arriving_count_ > 0 || done_ > 0; }

  bool TrySend(const MessageHeader& header, std::span<const std::byte> payload);
  void Release(Stream stream, SlotId slot);
  // Tells the peer of slots that are free again, if it may be waiting for them.
  void FlushUrgentReturns();
  // From the active message's handler: keeps the frame and a small payload.
  void Arrive(std::span<const std::byte> frame, std::span<const std::byte> payload);
  bool Deliver(Receiver& receiver);
  bool ReportSent(Receiver& receiver);
  // Looks at the control connection: no message ever comes over it, only its end. What the peer sent before that end
  // may still be on its way through UCX, so that the transport breaks the peer only when nothing more comes.
  void CheckControl();
  const std::string& ending() const { return ending_; }
  // Nothing more comes from it.
  bool gone() const { return failed_ || !broken_.empty() || !ending_.empty(); }
  void Break(std::string why);
  // Nothing more is sent or delivered.
  void Fail(Receiver& receiver);
  // A request that ends when everything sent has left UCX, and what was put is in the peer's memory; null or an error:
  // nothing is to be waited for.
  ucs_status_ptr_t StartFlush() { return endpoint_ && !failed_ ? endpoint_->Flush() : nullptr; }
  // Half of the goodbye; the other half is that CheckControl finds the peer's.
  void SayGoodbye();
  // A request that ends the endpoint, to be waited for; null: there is none.
  ucs_status_ptr_t StartClose() { return endpoint_ ? endpoint_->StartClose() : nullptr; }

 private:
  static constexpr std::size_t kInlineBytes = 4096;
  static constexpr std::size_t kFlags = kCreditStreams * kCredits;
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kFlagsBytes = (kFlags * kCacheLine + 4095) / 4096 * 4096;
  static constexpr std::size_t kRegionBytes = kFlagsBytes + kFlags * kTransportMessageBytesMax;

  struct Outgoing {
    UcxPeer* peer = nullptr;
    std::array<std::byte, kEdgeNumberBytes + kFrameBytes> head;
    MessageHeader header;
    bool reported = true;  // Sent is told
    std::uint64_t flag = 0;
    std::vector<std::byte> copy;  // of a control message
    int pending = 0;              // requests of UCX's that still use this
  };
  struct Arriving {
    Frame frame;
    std::vector<std::byte> control;
  };

  static std::size_t SlotIndex(Stream stream, std::uint8_t slot) {
    return static_cast<std::size_t>(stream) * kCredits + slot;
  }
  static std::size_t FlagOffset(std::size_t slot) { return slot * kCacheLine; }
  static std::size_t SlotOffset(std::size_t slot) { return kFlagsBytes + slot * kTransportMessageBytesMax; }
  static void Completed(void* request, ucs_status_t status, void* out);

  void Send(Outgoing& out, Frame frame, std::span<const std::byte> payload);
  void Started(Outgoing& out, ucs_status_ptr_t request);
  void Ended(Outgoing& out);
  bool Whole(const Frame& frame) const;
  void DeliverFront(std::deque<Arriving>& queue, Receiver& receiver);

  NodeIndex node_;
  UniqueFd control_;
  EdgeCredits credits_;
  std::uint64_t edge_number_ = 0;       // in what the peer sends
  std::uint64_t peer_edge_number_ = 0;  // in what is sent to it
  std::uint64_t bytes_sent_ = 0;
  std::string broken_;
  bool failed_ = false;
  std::string ending_;  // why the control connection ended

  net::ucx::Worker* worker_ = nullptr;
  std::unique_ptr<net::ucx::Memory> memory_;
  std::byte* region_ = nullptr;
  std::unique_ptr<net::ucx::Endpoint> endpoint_;
  ucp_rkey_h rkey_ = nullptr;  // the endpoint's
  std::uint64_t peer_region_ = 0;
  std::array<std::uint64_t, kFlags> puts_sent_{};
  std::array<std::uint64_t, kFlags> puts_taken_{};

  // Elements stay where they are: UCX reads them until their requests end. The last is for returns.
  std::array<std::deque<Outgoing>, kStreams + 1> outgoing_;
  int done_ = 0;  // of those that are to be reported
  std::array<std::deque<Arriving>, kStreams> arriving_;
  std::size_t arriving_count_ = 0;
};

}  // namespace glim::hfreduce
