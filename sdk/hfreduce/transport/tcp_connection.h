// One peer of a TcpTransport: what waits to be sent to it and what is arriving from it.
//
// A payload is sent from where the caller has it and received where it shall lie; only what came in the same read as
// its frame, at most kStagingBytes, is copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/frame.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

// Not thread-safe. Once broken it stays so, and every call does nothing.
class TcpConnection {
 public:
  explicit TcpConnection(Edge edge) : peer_(edge.peer), socket_(std::move(edge.socket)) {}

  NodeIndex peer() const { return peer_; }
  int socket() const { return socket_.get(); }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Why nothing more can be received; empty: all is well. What had arrived before has been given to the receiver.
  const std::string& broken() const { return broken_; }
  // The socket is full: worth another try when it is writable.
  bool blocked() const { return blocked_; }
  // Sending is over; Receive takes what the peer had sent before, and then says so in broken().
  bool send_failed() const { return !send_error_.empty(); }
  bool has_sent() const { return !sent_.empty(); }

  // As Transport's.
  bool TrySend(const MessageHeader& header, std::span<const std::byte> payload);
  void Release(Stream stream, SlotId slot);

  // Sends what the socket takes.
  void Flush();
  // Tells the peer of slots that are free again, if it may be waiting for them.
  void FlushUrgentReturns();
  // Reads a bounded amount. True: something came.
  bool Receive(Receiver& receiver);
  // Of the messages that have gone out whole. True: there were some.
  bool ReportSent(Receiver& receiver);
  // Gives the socket back: nothing more is read or sent.
  void Close();

  // On the way out: throws away what comes and sends what is left. True: nothing is left, or nobody is there.
  bool Drain();

 private:
  static constexpr std::size_t kStagingBytes = 8192;
  static constexpr int kReadsAtOnce = 8;
  static constexpr std::size_t kGatheredFrames = 16;

  struct Outgoing {
    Frame frame;
    FrameBytes encoded;
    bool begun = false;  // encoded, and its returns with it
    std::span<const std::byte> payload;
    std::unique_ptr<std::byte[]> copy;  // of a control message
  };

  void Break(std::string why);
  void Advance(std::size_t bytes);
  ssize_t Read(std::size_t& asked);
  bool Parse(Receiver& receiver);
  bool Begin(const Frame& frame, Receiver& receiver);
  void Deliver(Receiver& receiver);
  std::byte* Slot(Stream stream, std::uint8_t slot);

  NodeIndex peer_;
  UniqueFd socket_;
  EdgeCredits credits_;
  std::uint64_t bytes_sent_ = 0;
  std::string broken_;
  std::string send_error_;

  std::deque<Outgoing> queue_;
  std::size_t front_sent_ = 0;  // bytes of the first
  std::size_t controls_queued_ = 0;
  std::deque<MessageHeader> sent_;
  bool blocked_ = false;

  std::array<std::byte, kStagingBytes> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  Frame arriving_;
  std::byte* target_ = nullptr;  // of the payload that is arriving; null: a frame is
  std::size_t arrived_ = 0;
  SlotId arriving_slot_ = kNoSlot;
  std::array<std::byte, kControlPayloadMax> control_;
  std::array<std::array<std::unique_ptr<std::byte[]>, kCredits>, kCreditStreams> slots_;
};

}  // namespace glim::hfreduce
