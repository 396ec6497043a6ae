#include "sdk/hfreduce/transport/ucx_peer.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr std::size_t kReturnsQueue = kStreams;
// Edge number, address of the memory, length of the worker's address, whether it is an invitation.
constexpr std::size_t kInvitationHead = 2 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + 1;
constexpr char kInvites = 'I';
constexpr char kRefuses = 'R';

}  // namespace

std::string UcxInvitation::Encode() const {
  const auto worker_bytes = static_cast<std::uint32_t>(worker.size());
  std::string text(kInvitationHead, kInvites);
  std::memcpy(text.data(), &edge_number, 8);
  std::memcpy(text.data() + 8, &memory, 8);
  std::memcpy(text.data() + 16, &worker_bytes, 4);
  return text + worker + rkey;
}

std::string UcxInvitation::Refusal(const std::string& why) { return std::string(kInvitationHead, kRefuses) + why; }

Result<UcxInvitation> UcxInvitation::Decode(const std::string& text) {
  UcxInvitation invitation;
  std::uint32_t worker_bytes = 0;
  if (text.size() >= kInvitationHead && text[kInvitationHead - 1] == kRefuses) {
    return Status(StatusCode::kUnavailable, text.substr(kInvitationHead));
  }
  if (text.size() >= kInvitationHead) std::memcpy(&worker_bytes, text.data() + 16, 4);
  if (worker_bytes == 0 || text.size() - kInvitationHead <= worker_bytes) {
    return Status(StatusCode::kFailedPrecondition, "what it wrote into the store is no UCX address");
  }
  std::memcpy(&invitation.edge_number, text.data(), 8);
  std::memcpy(&invitation.memory, text.data() + 8, 8);
  invitation.worker = text.substr(kInvitationHead, worker_bytes);
  invitation.rkey = text.substr(kInvitationHead + worker_bytes);
  return invitation;
}

// UCX allocates, so that peers on this host can map it. What is not written to is not there.
Result<UcxInvitation> UcxPeer::Invite(net::ucx::Worker& worker, std::uint64_t edge_number) {
  Result<std::unique_ptr<net::ucx::Memory>> memory = net::ucx::Memory::Allocate(worker, kRegionBytes);
  if (!memory.ok()) {
    return Status(memory.status().code(), "for node " + std::to_string(node_) + ": " + memory.status().message())
        .WithFix(memory.status().fix());
  }
  memory_ = std::move(*memory);
  region_ = memory_->bytes().data();
  edge_number_ = edge_number;
  std::memset(region_, 0, kFlagsBytes);
  return UcxInvitation{.edge_number = edge_number,
                       .memory = reinterpret_cast<std::uint64_t>(region_),
                       .worker = worker.address(),
                       .rkey = memory_->key()};
}

Status UcxPeer::Join(net::ucx::Worker& worker, const UcxInvitation& invitation) {
  worker_ = &worker;
  peer_edge_number_ = invitation.edge_number;
  peer_region_ = invitation.memory;
  const std::string whom = "node " + std::to_string(node_) + ": ";
  Result<std::unique_ptr<net::ucx::Endpoint>> endpoint =
      net::ucx::Endpoint::Open(worker, invitation.worker, [this](const std::string& why) { Break(why); });
  if (!endpoint.ok()) return {endpoint.status().code(), whom + endpoint.status().message()};
  endpoint_ = std::move(*endpoint);
  const Result<ucp_rkey_h> rkey = endpoint_->Unpack(invitation.rkey);
  if (!rkey.ok()) return {rkey.status().code(), whom + rkey.status().message()};
  rkey_ = *rkey;
  return Status::Ok();
}

void UcxPeer::Break(std::string why) {
  if (broken_.empty()) broken_ = std::move(why);
}

void UcxPeer::Fail(Receiver& receiver) {
  failed_ = true;
  control_.Reset();
  receiver.Failed(node_, broken_);
}

bool UcxPeer::TrySend(const MessageHeader& header, std::span<const std::byte> payload) {
  GLIM_CHECK(payload.size() == header.bytes, "the header says how long the payload is");
  const bool control = header.stream == Stream::kControl;
  GLIM_CHECK(payload.size() <= (control ? kControlPayloadMax : kTransportMessageBytesMax), "a message is too large");
  if (!broken_.empty()) return false;
  Frame frame{header, FrameKind::kMessage, 0, 0, {}};
  auto& queue = outgoing_[static_cast<std::size_t>(header.stream)];
  if (!control) {
    const auto slot = credits_.Take(header.stream);
    if (!slot.has_value()) return false;
    frame.slot = *slot;
    frame.kind = payload.size() > kInlineBytes ? FrameKind::kPlaced : FrameKind::kMessage;
  } else if (queue.size() >= kControlQueueMax) {
    Break("it does not read its control messages");
    return false;
  }
  Outgoing& out = queue.emplace_back();
  if (control) {
    out.copy.assign(payload.begin(), payload.end());
    payload = out.copy;
  }
  frame.sequence = credits_.NextSequence(header.stream);
  Send(out, frame, payload);
  return true;
}

// `pending` counts one for this function, so that a request that ends at once does not end the message.
void UcxPeer::Send(Outgoing& out, Frame frame, std::span<const std::byte> payload) {
  out.peer = this;
  out.header = frame.header;
  out.pending = 1;
  frame.returned = credits_.TakeReturns();
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = Completed;
  params.user_data = &out;
  if (frame.kind == FrameKind::kPlaced) {
    const std::size_t slot = SlotIndex(frame.header.stream, frame.slot);
    out.flag = ++puts_sent_[slot];
    Started(out, ucp_put_nbx(endpoint_->handle(), payload.data(), payload.size(), peer_region_ + SlotOffset(slot),
                             rkey_, &params));
    ucp_worker_fence(worker_->handle());
    Started(out, ucp_put_nbx(endpoint_->handle(), &out.flag, sizeof out.flag, peer_region_ + FlagOffset(slot), rkey_,
                             &params));
    bytes_sent_ += payload.size() + sizeof out.flag;
    payload = {};
  }
  const FrameBytes encoded = Encode(frame);
  std::memcpy(out.head.data(), &peer_edge_number_, kEdgeNumberBytes);
  std::memcpy(out.head.data() + kEdgeNumberBytes, encoded.data(), kFrameBytes);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  Started(out, ucp_am_send_nbx(endpoint_->handle(), kActiveMessage, out.head.data(), out.head.size(), payload.data(),
                               payload.size(), &params));
  bytes_sent_ += out.head.size() + payload.size();
  Ended(out);
}

void UcxPeer::Started(Outgoing& out, ucs_status_ptr_t request) {
  if (UCS_PTR_IS_ERR(request)) {
    Break(std::string("UCX cannot send: ") + ucs_status_string(UCS_PTR_STATUS(request)));
  } else if (request != nullptr) {
    ++out.pending;
  } else {
    endpoint_->Worked();
  }
}

void UcxPeer::Completed(void* request, ucs_status_t status, void* data) {
  auto& out = *static_cast<Outgoing*>(data);
  if (status != UCS_OK) {
    out.peer->Break(std::string("its connection broke: ") + ucs_status_string(status));
  } else {
    out.peer->endpoint_->Worked();
  }
  ucp_request_free(request);
  out.peer->Ended(out);
}

void UcxPeer::Ended(Outgoing& out) {
  if (--out.pending > 0) return;
  if (out.reported) {
    ++done_;
    return;
  }
  auto& queue = outgoing_[kReturnsQueue];
  while (!queue.empty() && queue.front().pending == 0) queue.pop_front();
}

bool UcxPeer::ReportSent(Receiver& receiver) {
  if (done_ == 0) return false;
  bool any = false;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    auto& queue = outgoing_[stream];
    for (std::size_t n = queue.size(); n > 0 && broken_.empty() && queue.front().pending == 0; --n) {
      const MessageHeader header = queue.front().header;
      queue.pop_front();
      --done_;
      any = true;
      receiver.Sent(node_, header);
    }
  }
  return any;
}

void UcxPeer::Release(Stream stream, SlotId slot) {
  GLIM_CHECK(slot < kCredits && stream != Stream::kControl && credits_.Full(stream, slot), "no such slot is full");
  credits_.Free(stream, static_cast<std::uint8_t>(slot));
}

void UcxPeer::FlushUrgentReturns() {
  if (!credits_.ReturnsAreUrgent() || !broken_.empty()) return;
  Outgoing& out = outgoing_[kReturnsQueue].emplace_back();
  out.reported = false;
  Frame frame;
  frame.kind = FrameKind::kReturns;
  Send(out, frame, {});
}

void UcxPeer::Arrive(std::span<const std::byte> bytes, std::span<const std::byte> payload) {
  if (endpoint_) endpoint_->Worked();
  if (!broken_.empty()) return;
  const auto decoded = Decode(std::span<const std::byte, kFrameBytes>(bytes.data(), kFrameBytes));
  if (const auto* rule = std::get_if<std::string>(&decoded)) return Break("it broke the protocol: " + *rule);
  const Frame& frame = std::get<Frame>(decoded);
  if (!credits_.TakeBack(frame.returned)) return Break("it broke the protocol: a slot returned that was not taken");
  if (frame.kind == FrameKind::kReturns) return;
  const std::size_t expected = frame.kind == FrameKind::kPlaced ? 0 : frame.header.bytes;
  if (payload.size() != expected) return Break("it broke the protocol: a payload unlike its frame");
  if (const char* wrong = credits_.Accept(frame)) return Break(std::string("it broke the protocol: ") + wrong);
  auto& queue = arriving_[static_cast<std::size_t>(frame.header.stream)];
  if (queue.size() >= kControlQueueMax) return Break("it broke the protocol: too many control messages");
  queue.push_back({frame, {}});
  ++arriving_count_;
  if (frame.header.stream == Stream::kControl) {
    queue.back().control.assign(payload.begin(), payload.end());
  } else if (!payload.empty()) {
    std::memcpy(region_ + SlotOffset(SlotIndex(frame.header.stream, frame.slot)), payload.data(), payload.size());
  }
}

bool UcxPeer::Whole(const Frame& frame) const {
  if (frame.kind != FrameKind::kPlaced) return true;
  const std::size_t slot = SlotIndex(frame.header.stream, frame.slot);
  auto* flag = reinterpret_cast<std::uint64_t*>(region_ + FlagOffset(slot));
  return std::atomic_ref(*flag).load(std::memory_order_acquire) == puts_taken_[slot] + 1;
}

bool UcxPeer::Deliver(Receiver& receiver) {
  if (arriving_count_ == 0) return false;
  bool any = false;
  for (auto& queue : arriving_) {
    while (!queue.empty() && Whole(queue.front().frame)) {
      DeliverFront(queue, receiver);
      any = true;
    }
  }
  return any;
}

void UcxPeer::DeliverFront(std::deque<Arriving>& queue, Receiver& receiver) {
  const Arriving message = std::move(queue.front());
  queue.pop_front();
  --arriving_count_;
  const MessageHeader& header = message.frame.header;
  if (header.stream == Stream::kControl) return receiver.Received(node_, header, message.control, kNoSlot);
  const std::size_t index = SlotIndex(header.stream, message.frame.slot);
  if (message.frame.kind == FrameKind::kPlaced) ++puts_taken_[index];
  const std::byte* slot = region_ + SlotOffset(index);
  std::byte* landing = header.bytes > 0 ? receiver.Landing(node_, header) : nullptr;
  if (landing != nullptr) std::memcpy(landing, slot, header.bytes);
  if (landing == nullptr && header.bytes > 0) {
    return receiver.Received(node_, header, {slot, header.bytes}, message.frame.slot);
  }
  credits_.Free(header.stream, message.frame.slot);
  receiver.Received(node_, header, {landing, header.bytes}, kNoSlot);
}

void UcxPeer::CheckControl() {
  if (!control_ || !ending_.empty()) return;
  std::byte unexpected;
  const ssize_t n = ::recv(control_.get(), &unexpected, 1, 0);
  if (n < 0 && net::WouldBlock(errno)) return;
  if (n > 0) ending_ = "it broke the protocol: a message on the control connection";
  if (n < 0) ending_ = "its connection broke: " + net::ErrnoText(errno);
  if (n == 0) ending_ = "it ended the connection";
}

void UcxPeer::SayGoodbye() {
  if (control_) ::shutdown(control_.get(), SHUT_WR);
}

}  // namespace glim::hfreduce
