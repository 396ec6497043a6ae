#include "sdk/hfreduce/engine/engine.h"

#include <algorithm>
#include <utility>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

// In progress at a time: enough to fill the pipeline between operations; each is looked at in every Step.
constexpr std::size_t kActiveMax = 16;
// How long a failure waits for its aborts to leave, when a peer takes nothing.
constexpr Duration kTellingMax = Milliseconds(200);

std::string NodeName(NodeIndex node) { return "node " + std::to_string(node); }

std::string OperationName(const Operation& operation) {
  return "operation " + std::to_string(operation.number()) + " (" + Describe(operation.signature()) + ")";
}

}  // namespace

Engine::Engine(const Routes& routes, Transport& transport, Duration timeout)
    : routes_(routes), transport_(transport), lanes_(transport), watch_(routes.self(), timeout) {
  for (const NodeIndex peer : routes.neighbours()) peers_[peer] = {};
}

void Engine::Start(std::unique_ptr<Operation> operation, Ended ended) {
  GLIM_CHECK(operation->number() == started_ + 1, "operations are numbered without gaps");
  started_ = operation->number();
  queued_.push_back({std::move(operation), std::move(ended)});
  ++progress_;
}

bool Engine::Step() {
  if (phase_ == Phase::kRunning) Activate();
  bool any = phase_ != Phase::kClosed && transport_.Progress(*this);
  if (phase_ == Phase::kRunning && PollOperations()) {
    ++progress_;
    any = true;
  }
  // Also what was started after the failure.
  if ((phase_ == Phase::kEnding && AllTold()) || (phase_ == Phase::kClosed && !idle())) {
    Close();
    any = true;
  }
  return any;
}

void Engine::Activate() {
  while (phase_ == Phase::kRunning && !queued_.empty() && active_.size() < kActiveMax) {
    const std::uint64_t number = queued_.front().operation->number();
    Operation& operation = *queued_.front().operation;
    active_.emplace(number, std::move(queued_.front()));
    queued_.pop_front();
    activated_ = number;
    signatures_[number % signatures_.size()] = Pack(operation.signature());
    operation.Start(lanes_);
    if (auto early = early_.extract(number)) {
      for (const Early& message : early.mapped()) Deliver(operation, message.from, message.arrival);
    }
    for (const auto& [node, peer] : peers_) {
      if (peer.lost && operation.Needs(node)) Fail(Status(StatusCode::kUnavailable, NodeName(node) + " has left"));
    }
  }
}

bool Engine::PollOperations() {
  bool any = false;
  std::vector<Ended> ended;
  for (auto it = active_.begin(); it != active_.end();) {
    if (it->second.operation->Poll()) any = true;
    if (!it->second.operation->done()) {
      ++it;
      continue;
    }
    ended.push_back(std::move(it->second.ended));
    it = active_.erase(it);
  }
  for (const Ended& callback : ended) callback(Status::Ok());
  return any || !ended.empty();
}

std::byte* Engine::Landing(NodeIndex from, const MessageHeader& header) {
  if (phase_ != Phase::kRunning || header.stream == Stream::kControl) return nullptr;
  const auto active = active_.find(header.operation);
  if (active == active_.end() || header.signature != Pack(active->second.operation->signature())) return nullptr;
  return active->second.operation->Landing(from, header);
}

void Engine::Received(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload, SlotId slot) {
  if (header.stream == Stream::kControl || phase_ != Phase::kRunning) {
    if (header.stream == Stream::kControl && phase_ == Phase::kRunning) HandleControl(from, header, payload);
    if (slot != kNoSlot) transport_.Release(from, header.stream, slot);
    return;
  }
  if (Mismatched(from, header.operation, header.signature)) return;
  const Arrival arrival{.header = header, .payload = payload, .slot = slot};
  if (header.operation > activated_) {
    early_[header.operation].push_back({from, arrival});
    return;
  }
  const auto active = active_.find(header.operation);
  if (active != active_.end()) {
    ++progress_;
    Deliver(*active->second.operation, from, arrival);
    return;
  }
  Fail(Status(StatusCode::kInvalidArgument, NodeName(from) + " sent a message of operation " +
                                                std::to_string(header.operation) + ", which is over on " +
                                                NodeName(routes_.self())));
}

void Engine::Deliver(Operation& operation, NodeIndex from, const Arrival& arrival) {
  if (Mismatched(from, operation.number(), arrival.header.signature)) return;
  const Status status = operation.Received(from, arrival);
  if (status.ok()) return;
  const std::string here = OperationName(operation) + " on " + NodeName(routes_.self());
  Fail(Status(status.code(), here + ": " + NodeName(from) + " " + status.message()));
}

std::optional<std::uint64_t> Engine::SignatureOf(std::uint64_t number) const {
  const auto active = active_.find(number);
  if (active != active_.end()) return Pack(active->second.operation->signature());
  if (number > started_ || number + signatures_.size() <= activated_) return std::nullopt;
  if (number <= activated_) return signatures_[number % signatures_.size()];
  return Pack(queued_[number - activated_ - 1].operation->signature());
}

bool Engine::Mismatched(NodeIndex from, std::uint64_t number, std::uint64_t theirs) {
  const std::optional<std::uint64_t> ours = SignatureOf(number);
  if (!ours.has_value() || *ours == theirs) return false;
  const Signature there = Unpack(theirs);
  const Signature here = Unpack(*ours);
  const std::string both =
      Describe(there) + " on " + NodeName(from) + " and " + Describe(here) + " on " + NodeName(routes_.self());
  Fail(Status(StatusCode::kInvalidArgument,
              "operation " + std::to_string(number) + " is " + both + ": " + Difference(there, here)));
  return true;
}

void Engine::Sent(NodeIndex to, const MessageHeader& header) {
  if (header.stream == Stream::kControl) {
    Peer& peer = peers_[to];
    if (peer.controls_unsent > 0) --peer.controls_unsent;
    return;
  }
  const auto active = active_.find(header.operation);
  if (active == active_.end()) return;
  ++progress_;
  active->second.operation->Sent(to, header);
}

void Engine::Failed(NodeIndex node, const std::string& why) {
  Peer& peer = peers_[node];
  peer.lost = true;
  peer.controls_unsent = 0;
  if (phase_ != Phase::kRunning) return;
  if (!peer.left) {
    Fail(Status(StatusCode::kUnavailable, NodeName(node) + " is lost: " + why));
    return;
  }
  for (const auto& [number, running] : active_) {
    if (!running.operation->Needs(node)) continue;
    Fail(Status(StatusCode::kUnavailable, NodeName(node) + " has left before operation " + std::to_string(number)));
    return;
  }
}

void Engine::Tick(TimePoint now) {
  if (phase_ == Phase::kEnding) {
    if (!ending_since_.has_value()) ending_since_ = now;
    if (now - *ending_since_ >= kTellingMax) Close();
  }
  if (phase_ != Phase::kRunning || !watch_.Tick(now, !active_.empty(), progress_)) return;
  const Operation& oldest = *active_.begin()->second.operation;
  const Waits waits = oldest.WaitsFor();
  const Status verdict = watch_.Judge(waits, OperationName(oldest));
  if (!verdict.ok()) {
    Fail(verdict);
    return;
  }
  for (const NodeIndex node : waits.nodes) {
    SendControl(node, ControlHeader(ControlKind::kAsk, oldest.number(), Pack(oldest.signature()), 0), {});
  }
}

void Engine::HandleControl(NodeIndex from, const MessageHeader& header, std::span<const std::byte> payload) {
  switch (static_cast<ControlKind>(header.chunk)) {
    case ControlKind::kAbort: Fail(StatusOfAbort(header, payload), from); break;
    case ControlKind::kGoodbye: peers_[from].left = true; break;
    case ControlKind::kAsk:
      if (!Mismatched(from, header.operation, header.signature)) Answer(from, header.operation);
      break;
    case ControlKind::kAnswer: watch_.Answered(from, header.signature == 1); break;
    default: Fail(Status(StatusCode::kUnavailable, NodeName(from) + " is lost: it sent what nobody understands"));
  }
}

void Engine::Answer(NodeIndex to, std::uint64_t number) {
  const bool own = active_.empty() ? number > activated_ : active_.begin()->second.operation->WaitsFor().local;
  SendControl(to, ControlHeader(ControlKind::kAnswer, number, own ? 1 : 0, 0), {});
}

void Engine::SendControl(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) {
  Peer& peer = peers_[to];
  if (!peer.lost && transport_.TrySend(to, header, payload)) ++peer.controls_unsent;
}

void Engine::Abort(const std::string& reason) { Fail(Status(StatusCode::kAborted, reason)); }

void Engine::Leave() {
  const bool busy = !idle();
  if (busy) {
    Abort(NodeName(routes_.self()) + " has left in the middle of operation " +
          std::to_string(active_.empty() ? started_ : active_.begin()->first));
  }
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kEnding;
  status_ = Status(StatusCode::kAborted, "the communicator is destroyed");
  for (const auto& [node, peer] : peers_) SendControl(node, ControlHeader(ControlKind::kGoodbye, 0, 0, 0), {});
}

void Engine::Fail(Status status, std::optional<NodeIndex> told_by) {
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kEnding;
  status_ = std::move(status);
  const std::string& text = status_.message();
  const std::span all(reinterpret_cast<const std::byte*>(text.data()), text.size());
  const auto payload = all.first(std::min(all.size(), kControlBytesMax));
  const auto code = static_cast<std::uint64_t>(status_.code());
  for (const auto& [node, peer] : peers_) {
    if (node != told_by) SendControl(node, ControlHeader(ControlKind::kAbort, 0, code, payload.size()), payload);
  }
}

bool Engine::AllTold() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.controls_unsent == 0; });
}

void Engine::Close() {
  phase_ = Phase::kClosed;
  std::vector<Ended> ended;
  for (auto& [number, running] : active_) ended.push_back(std::move(running.ended));
  for (Running& running : queued_) ended.push_back(std::move(running.ended));
  active_.clear();
  queued_.clear();
  early_.clear();
  const Status status = status_;
  for (const Ended& callback : ended) callback(status);
}

}  // namespace glim::hfreduce
