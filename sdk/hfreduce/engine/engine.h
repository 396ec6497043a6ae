// The engine of a node's leader: drives the operations in flight, and fails them all at once when one cannot go on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/status.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/engine/control.h"
#include "sdk/hfreduce/engine/lanes.h"
#include "sdk/hfreduce/engine/operation.h"
#include "sdk/hfreduce/engine/routes.h"
#include "sdk/hfreduce/engine/stall_watch.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

// Failure. Whatever fails (a lost or stalled peer, a mismatch, Abort) fails every operation here and, through an abort
// that each node passes on to its neighbours once, everywhere, with the same message. Nothing can be started after
// that.
//
//   running ── failure or Leave ──> ending (aborts or goodbyes go out) ──> closed (all operations have ended)
//
// Operations end only when the engine is closed, and a closed engine calls the transport no more: until then messages
// may be on their way out of or into their buffers, after that they are the caller's again.
//
// Not thread-safe: one thread at a time. Has no clock and waits for nothing; the caller waits for the transport's
// descriptor and for local processes when Step has nothing to do.
class Engine final : public Receiver {
 public:
  // Called once, with what became of the operation. May start others. Not from within Start.
  using Ended = std::function<void(const Status&)>;

  // `routes` and `transport`, which connects routes.neighbours(), must outlive it.
  Engine(const Routes& routes, Transport& transport, Duration timeout);

  // Operations are numbered from 1, without gaps, in the same order on all nodes. Some are in progress at a time; the
  // rest wait for their turn.
  void Start(std::unique_ptr<Operation> operation, Ended ended);
  // Does what can be done without waiting. True: there may be more.
  bool Step();
  // To be called about every tenth of the timeout or more often, with a clock that never goes back.
  void Tick(TimePoint now);
  // ABORTED with this reason, here and on all other nodes.
  void Abort(const std::string& reason);
  // Before it is destroyed: tells the neighbours that this node has left. Step, and Tick, until closed. With operations
  // in flight it is an Abort.
  void Leave();

  bool closed() const { return phase_ == Phase::kClosed; }
  // Whether nothing is in flight.
  bool idle() const { return active_.empty() && queued_.empty(); }
  // Why it fails everything; OK while it does not.
  const Status& status() const { return status_; }
  // Changes with all that comes nearer to an end; questions and answers are no progress.
  std::uint64_t progress() const { return progress_; }
  // The oldest operation in progress, null if there is none.
  const Operation* oldest() const { return active_.empty() ? nullptr : active_.begin()->second.operation.get(); }

  std::byte* Landing(NodeIndex from, const MessageHeader& header) override;
  void Received(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload, SlotId slot) override;
  void Sent(NodeIndex to, const MessageHeader& header) override;
  void Failed(NodeIndex peer, const std::string& why) override;

 private:
  enum class Phase : std::uint8_t { kRunning, kEnding, kClosed };
  struct Running {
    std::unique_ptr<Operation> operation;
    Ended ended;
  };
  struct Early {
    NodeIndex from = 0;
    Arrival arrival;
  };
  struct Peer {
    bool left = false;  // said goodbye
    bool lost = false;
    std::uint32_t controls_unsent = 0;
  };

  void Activate();
  bool PollOperations();
  void Deliver(Operation& operation, NodeIndex from, const Arrival& arrival);
  // None: not started yet, or long over.
  std::optional<std::uint64_t> SignatureOf(std::uint64_t number) const;
  // True, and the failure, where the peer means something else by this number.
  bool Mismatched(NodeIndex from, std::uint64_t number, std::uint64_t theirs);
  void HandleControl(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload);
  void Answer(NodeIndex to, std::uint64_t number);
  void SendControl(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload);
  void Fail(Status status, std::optional<NodeIndex> told_by = std::nullopt);
  // All control messages are out, or never will be.
  bool AllTold() const;
  void Close();

  const Routes& routes_;
  Transport& transport_;
  Lanes lanes_;
  StallWatch watch_;
  Phase phase_ = Phase::kRunning;
  Status status_;
  std::optional<TimePoint> ending_since_;
  std::map<NodeIndex, Peer> peers_;
  std::map<std::uint64_t, Running> active_;  // by number
  std::deque<Running> queued_;
  std::uint64_t started_ = 0;                          // the last number that Start saw
  std::uint64_t activated_ = 0;                        // the last that is, or was, active
  std::map<std::uint64_t, std::vector<Early>> early_;  // for operations that are not active yet; bounded by credits
  std::array<std::uint64_t, 256> signatures_{};        // of the last that became active, by number
  std::uint64_t progress_ = 0;
};

}  // namespace glim::hfreduce
