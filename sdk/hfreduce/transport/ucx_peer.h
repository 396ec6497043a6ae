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
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/frame.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

inline constexpr unsigned kActiveMessage = 1;
// Goes before the frame in an active message: the receiver's number for the edge. Also keeps strangers out.
inline constexpr std::size_t kEdgeNumberBytes = sizeof(std::uint64_t);

inline Status Failure(const std::string& what, ucs_status_t status) {
  return {StatusCode::kUnavailable, what + ": " + ucs_status_string(status)};
}

// What a node tells a peer about the memory that the peer may write to. Travels through the store.
struct UcxInvitation {
  std::uint64_t edge_number = 0;
  std::uint64_t memory = 0;  // address of the peer's region
  std::string worker;        // address
  std::string rkey;

  std::string Encode() const;
  static Result<UcxInvitation> Decode(const std::string& text);
};

// Not thread-safe; not movable once it has sent. The worker and the context outlive it.
class UcxPeer {
 public:
  explicit UcxPeer(Edge edge) : node_(edge.peer), control_(std::move(edge.socket)) {}
  ~UcxPeer();
  UcxPeer(const UcxPeer&) = delete;
  UcxPeer& operator=(const UcxPeer&) = delete;

  // Registers the memory that the peer will write to.
  Result<UcxInvitation> Invite(ucp_context_h context, ucp_worker_h worker, std::uint64_t edge_number);
  Status Join(const UcxInvitation& invitation, ucp_err_handling_mode_t error_mode);

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
  void Break(std::string why);
  // Nothing more is sent or delivered.
  void Fail(Receiver& receiver);
  // Half of the goodbye; the other half is that CheckControl finds the peer's.
  void SayGoodbye();
  // A request that ends the endpoint, to be waited for; null: there is none.
  ucs_status_ptr_t StartClose();

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
  static void EndpointBroke(void* peer, ucp_ep_h endpoint, ucs_status_t status);

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

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h memory_ = nullptr;
  std::byte* region_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h rkey_ = nullptr;
  ucp_err_handling_mode_t error_mode_ = UCP_ERR_HANDLING_MODE_NONE;
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
