#include "sdk/hfreduce/transport/tcp_connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

iovec Part(const std::byte* data, std::size_t bytes) { return {const_cast<std::byte*>(data), bytes}; }

}  // namespace

void TcpConnection::Break(std::string why) {
  if (broken_.empty()) broken_ = std::move(why);
}

void TcpConnection::Close() {
  socket_.Reset();
  queue_.clear();
  sent_.clear();
  blocked_ = false;
}

bool TcpConnection::TrySend(const MessageHeader& header, std::span<const std::byte> payload) {
  GLIM_CHECK(payload.size() == header.bytes, "the header says how long the payload is");
  const bool control = header.stream == Stream::kControl;
  GLIM_CHECK(payload.size() <= (control ? kControlPayloadMax : kTransportMessageBytesMax), "a message is too large");
  if (!socket_) return false;
  std::uint8_t slot = 0;
  if (!control) {
    const auto free = credits_.Take(header.stream);
    if (!free.has_value()) return false;
    slot = *free;
  } else if (++controls_queued_ > kControlQueueMax) {
    send_error_ = "it does not read its control messages";
    return false;
  }
  Outgoing& out = queue_.emplace_back();
  out.frame = {header, FrameKind::kMessage, slot, credits_.NextSequence(header.stream), {}};
  out.payload = payload;
  if (control && !payload.empty()) {
    out.copy = std::make_unique<std::byte[]>(payload.size());
    std::memcpy(out.copy.get(), payload.data(), payload.size());
    out.payload = {out.copy.get(), payload.size()};
  }
  if (!blocked_) Flush();
  return true;
}

void TcpConnection::Release(Stream stream, SlotId slot) {
  GLIM_CHECK(slot < kCredits && stream != Stream::kControl && credits_.Full(stream, slot), "no such slot is full");
  credits_.Free(stream, static_cast<std::uint8_t>(slot));
}

void TcpConnection::Flush() {
  blocked_ = false;
  while (!queue_.empty() && send_error_.empty() && socket_) {
    iovec parts[2 * kGatheredFrames];
    std::size_t count = 0;
    std::size_t skip = front_sent_;
    const std::size_t frames = std::min(queue_.size(), kGatheredFrames);
    for (std::size_t i = 0; i < frames; ++i) {
      Outgoing& out = queue_[i];
      if (!out.begun) {
        out.frame.returned = credits_.TakeReturns();
        out.encoded = Encode(out.frame);
        out.begun = true;
      }
      if (skip < kFrameBytes) parts[count++] = Part(out.encoded.data() + skip, kFrameBytes - skip);
      const std::size_t past = skip > kFrameBytes ? skip - kFrameBytes : 0;
      if (past < out.payload.size()) parts[count++] = Part(out.payload.data() + past, out.payload.size() - past);
      skip = 0;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && net::WouldBlock(errno)) {
      blocked_ = true;
      return;
    }
    // What the peer sent before it died is still to be read: reading will find the end.
    if (n < 0) send_error_ = "its connection broke: " + net::ErrnoText(errno);
    if (n > 0) Advance(static_cast<std::size_t>(n));
  }
}

void TcpConnection::Advance(std::size_t bytes) {
  bytes_sent_ += bytes;
  front_sent_ += bytes;
  while (!queue_.empty() && front_sent_ >= kFrameBytes + queue_.front().payload.size()) {
    const Outgoing& out = queue_.front();
    front_sent_ -= kFrameBytes + out.payload.size();
    if (out.frame.kind == FrameKind::kMessage) {
      if (out.frame.header.stream == Stream::kControl) --controls_queued_;
      sent_.push_back(out.frame.header);
    }
    queue_.pop_front();
  }
}

void TcpConnection::FlushUrgentReturns() {
  if (!credits_.ReturnsAreUrgent() || !socket_) return;
  // A frame that has not begun will carry them.
  if (!queue_.empty() && !queue_.back().begun) return;
  Outgoing& out = queue_.emplace_back();
  out.frame.kind = FrameKind::kReturns;
  if (!blocked_) Flush();
}

bool TcpConnection::ReportSent(Receiver& receiver) {
  const bool any = !sent_.empty();
  // Only those that are here now: a receiver that answers each Sent with a TrySend would never come to an end.
  for (std::size_t n = sent_.size(); n > 0 && !sent_.empty(); --n) {
    const MessageHeader header = sent_.front();
    sent_.pop_front();
    receiver.Sent(peer_, header);
  }
  return any;
}

ssize_t TcpConnection::Read(std::size_t& asked) {
  iovec parts[2];
  std::size_t count = 0;
  if (target_ != nullptr) parts[count++] = {target_ + arrived_, arriving_.header.bytes - arrived_};
  if (staged_begin_ > 0) {
    std::memmove(staging_.data(), staging_.data() + staged_begin_, staged_end_ - staged_begin_);
    staged_end_ -= std::exchange(staged_begin_, 0);
  }
  parts[count++] = {staging_.data() + staged_end_, kStagingBytes - staged_end_};
  asked = 0;
  for (std::size_t i = 0; i < count; ++i) asked += parts[i].iov_len;
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  for (;;) {
    const ssize_t n = ::recvmsg(socket_.get(), &message, 0);
    if (n >= 0 || errno != EINTR) return n;
  }
}

bool TcpConnection::Receive(Receiver& receiver) {
  bool any = false;
  for (int i = 0; i < kReadsAtOnce && broken_.empty() && socket_; ++i) {
    std::size_t asked = 0;
    const ssize_t n = Read(asked);
    if (n < 0 && net::WouldBlock(errno)) {
      if (!send_error_.empty()) Break(send_error_);
      break;
    }
    if (n < 0) Break("its connection broke: " + net::ErrnoText(errno));
    if (n == 0) Break(target_ != nullptr ? "it ended the connection within a message" : "it ended the connection");
    if (n <= 0) break;
    any = true;
    auto got = static_cast<std::size_t>(n);
    if (target_ != nullptr) {
      const std::size_t direct = std::min(got, arriving_.header.bytes - arrived_);
      arrived_ += direct;
      got -= direct;
    }
    staged_end_ += got;
    if (!Parse(receiver)) break;
    if (static_cast<std::size_t>(n) < asked) break;  // the socket is empty: epoll says when it is not
  }
  return any;
}

bool TcpConnection::Parse(Receiver& receiver) {
  for (;;) {
    if (target_ != nullptr) {
      const std::size_t take = std::min(staged_end_ - staged_begin_, arriving_.header.bytes - arrived_);
      std::memcpy(target_ + arrived_, staging_.data() + staged_begin_, take);
      staged_begin_ += take;
      arrived_ += take;
      if (arrived_ < arriving_.header.bytes) return true;
      Deliver(receiver);
    }
    if (staged_end_ - staged_begin_ < kFrameBytes) return true;
    const auto decoded = Decode(std::span<const std::byte, kFrameBytes>(staging_.data() + staged_begin_, kFrameBytes));
    staged_begin_ += kFrameBytes;
    if (const auto* rule = std::get_if<std::string>(&decoded)) {
      Break("it broke the protocol: " + *rule);
      return false;
    }
    if (!Begin(std::get<Frame>(decoded), receiver)) return false;
  }
}

bool TcpConnection::Begin(const Frame& frame, Receiver& receiver) {
  if (!credits_.TakeBack(frame.returned)) {
    Break("it broke the protocol: a slot returned that was not taken");
    return false;
  }
  if (frame.kind == FrameKind::kReturns) return true;
  const char* wrong =
      frame.kind == FrameKind::kPlaced ? "a payload placed from afar, over TCP" : credits_.Accept(frame);
  if (wrong != nullptr) {
    Break(std::string("it broke the protocol: ") + wrong);
    return false;
  }
  arriving_ = frame;
  arrived_ = 0;
  arriving_slot_ = kNoSlot;
  const Stream stream = frame.header.stream;
  if (stream == Stream::kControl || frame.header.bytes == 0) {
    target_ = control_.data();
  } else if (target_ = receiver.Landing(peer_, frame.header); target_ == nullptr) {
    arriving_slot_ = frame.slot;
    target_ = Slot(stream, frame.slot);
  }
  return true;
}

void TcpConnection::Deliver(Receiver& receiver) {
  const std::byte* payload = std::exchange(target_, nullptr);
  const MessageHeader header = arriving_.header;
  if (header.stream != Stream::kControl && arriving_slot_ == kNoSlot) credits_.Free(header.stream, arriving_.slot);
  receiver.Received(peer_, header, {payload, header.bytes}, arriving_slot_);
}

std::byte* TcpConnection::Slot(Stream stream, std::uint8_t slot) {
  auto& memory = slots_[static_cast<std::size_t>(stream)][slot];
  // Not cleared: pages that no message fills are never touched.
  if (!memory) memory.reset(new std::byte[kTransportMessageBytesMax]);
  return memory.get();
}

bool TcpConnection::Drain() {
  if (!socket_ || !send_error_.empty()) return true;
  if (!queue_.empty()) Flush();
  // A socket that is closed with something unread is reset, and what it has not sent yet is lost.
  ssize_t n = 0;
  do {
    n = ::recv(socket_.get(), staging_.data(), staging_.size(), 0);
  } while (n > 0 || (n < 0 && errno == EINTR));
  int unacknowledged = 0;
  if (n == 0 || !net::WouldBlock(errno) || ::ioctl(socket_.get(), SIOCOUTQ, &unacknowledged) != 0) return true;
  return queue_.empty() && unacknowledged == 0;
}

}  // namespace glim::hfreduce
