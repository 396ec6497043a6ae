#include "sdk/hfreduce/communicator/leader_part.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sdk/hfreduce/communicator/latency_path.h"
#include "sdk/hfreduce/engine/direct_operation.h"
#include "sdk/hfreduce/engine/tree_operation.h"

namespace glim::hfreduce {

Result<std::unique_ptr<LeaderPart>> LeaderPart::Create(Segment* segment, DeviceStage* device, Topology topology,
                                                       std::uint32_t node, std::unique_ptr<Transport> transport,
                                                       std::size_t latency_path_bytes_max, Duration timeout) {
  std::unique_ptr<Exchange> exchange;
  int bell = -1;
  if (segment != nullptr) {
    auto made = Exchange::Create(*segment, Reducer::kLeader, kHalves, kChunkBytesMax);
    if (!made.ok()) return made.status();
    exchange = std::move(made.value());
    if (device != nullptr) exchange->UseDevice(*device);
    const Result<int> descriptor = segment->bell().Descriptor();
    if (!descriptor.ok()) return descriptor.status();
    bell = *descriptor;
  }
  return std::unique_ptr<LeaderPart>(new LeaderPart(segment, std::move(topology), node, std::move(transport),
                                                    std::move(exchange), bell, latency_path_bytes_max, timeout));
}

LeaderPart::LeaderPart(Segment* segment, Topology topology, std::uint32_t node, std::unique_ptr<Transport> transport,
                       std::unique_ptr<Exchange> exchange, int bell, std::size_t latency_path_bytes_max,
                       Duration timeout)
    : segment_(segment),
      topology_(std::move(topology)),
      node_(node),
      latency_path_bytes_max_(latency_path_bytes_max),
      timeout_(timeout),
      transport_(std::move(transport)),
      transport_name_(transport_->Name()),
      exchange_(std::move(exchange)),
      bell_(bell),
      routes_(topology_, node),
      engine_(routes_, *transport_, timeout) {
  if (exchange_) watch_.emplace(*exchange_, timeout);
}

void LeaderPart::Start(Request request) { waiting_.push_back(std::move(request)); }

bool LeaderPart::ThroughSegment(const Request& request) const {
  return exchange_ && (segment_->ranks() > 1 || request.on_device.in || request.on_device.out);
}

bool LeaderPart::SegmentInUse() const {
  return exchange_ && std::any_of(running_.begin(), running_.end(),
                                  [](const auto& running) { return running.second.through_segment; });
}

std::unique_ptr<LocalSide> LeaderPart::LocalSideOf(Running& running) {
  const Request& request = running.request;
  if (running.through_segment) {
    exchange_->Begin(LocalOperationOf(request, topology_, node_), running.chunking, false);
    return std::make_unique<SegmentSide>(*exchange_);
  }
  std::byte* sums = request.out;
  if (request.signature.kind == Collective::kReduce && topology_.NodeOf(request.signature.root) != node_) {
    running.sums = std::make_unique_for_overwrite<std::byte[]>(request.signature.bytes());
    sums = running.sums.get();
  }
  return std::make_unique<BufferSide>(running.chunking, SizeOf(request.signature.element()), request.in, sums);
}

void LeaderPart::StartNext() {
  while (!waiting_.empty() && !(ThroughSegment(waiting_.front()) && SegmentInUse())) {
    const std::uint64_t number = ++number_;
    Running& running = running_[number];
    running.request = std::move(waiting_.front());
    waiting_.pop_front();
    const Request& request = running.request;
    running.chunking = ChunkingOfRequest(request, latency_path_bytes_max_);
    running.through_segment = ThroughSegment(request);
    running.local = LocalSideOf(running);
    const OperationSetup setup{.routes = routes_,
                               .chunking = running.chunking,
                               .local = *running.local,
                               .number = number,
                               .signature = request.signature,
                               .args = {.type = request.signature.element(),
                                        .op = request.signature.op,
                                        .divisor = request.signature.op == ReduceOp::kAverage ? topology_.ranks() : 1}};
    std::unique_ptr<Operation> operation;
    if (TakesLatencyPath(request, latency_path_bytes_max_)) {
      operation = std::make_unique<DirectOperation>(setup);
    } else {
      operation = std::make_unique<TreeOperation>(setup);
    }
    engine_.Start(std::move(operation), [this, number](const Status& status) {
      running_.at(number).ended = true;
      running_.at(number).status = status;
    });
  }
}

bool LeaderPart::FinishEnded() {
  bool any = false;
  for (auto it = running_.begin(); it != running_.end();) {
    Running& running = it->second;
    const bool local = running.through_segment;
    const bool local_ended = !local || segment_->failed() || exchange_->Ended();
    const bool failed = !running.status.ok() || (local && segment_->failed());
    if (!running.ended || (failed ? local && !exchange_->Quiet() : !local_ended)) {
      ++it;
      continue;
    }
    Status status = running.status;
    if (status.ok() && local && segment_->failed()) status = segment_->failure();
    const std::shared_ptr<Completion> completion = running.request.completion;
    it = running_.erase(it);
    completion->Finish(status);
    any = true;
  }
  return any;
}

void LeaderPart::ShareFailure() {
  if (!exchange_ || failure_shared_) return;
  if (!engine_.status().ok()) {
    segment_->Fail(engine_.status());
  } else if (segment_->failed()) {
    engine_.Abort(segment_->failure().message());
  } else {
    return;
  }
  failure_shared_ = true;
}

bool LeaderPart::Step() {
  StartNext();
  bool any = false;
  if (SegmentInUse() && !segment_->failed()) {
    any = exchange_->results().TakeOne() || any;
    any = exchange_->delivery().DeliverOne() || any;
  }
  any = engine_.Step() || any;
  // Unsent messages may lie in buffers that are about to be their callers' again.
  if (engine_.closed()) transport_.reset();
  ShareFailure();
  return FinishEnded() || any;
}

void LeaderPart::Tick(TimePoint now) {
  engine_.Tick(now);
  if (watch_ && SegmentInUse()) watch_->Tick(now, true);
}

std::uint64_t LeaderPart::progress() const {
  return engine_.progress() + number_ + (exchange_ ? exchange_->counters().Beats() : 0);
}

std::string LeaderPart::NodeInWords(NodeIndex node) const {
  const std::uint32_t first = topology_.FirstRankOf(node);
  const std::uint32_t ranks = topology_.nodes[node].local_ranks;
  const std::string last = ranks > 1 ? "-" + std::to_string(first + ranks - 1) : "";
  return "node " + std::to_string(node) + " (rank" + (ranks > 1 ? "s " : " ") + std::to_string(first) + last + ")";
}

std::string LeaderPart::WaitsFor() const {
  const Operation* oldest = engine_.oldest();
  const Waits waits = oldest ? oldest->WaitsFor() : Waits{.local = true, .nodes = {}};
  if (waits.local && SegmentInUse()) return exchange_->watch().WaitsFor();
  if (!oldest) return "";
  std::string whom;
  const std::set<NodeIndex> nodes(waits.nodes.begin(), waits.nodes.end());  // both trees may wait for the same one
  for (const NodeIndex node : nodes) whom += (whom.empty() ? "" : " and ") + NodeInWords(node);
  if (waits.local || whom.empty()) whom = "what it is to send itself";
  return "waits for " + whom + " in " + Describe(oldest->signature()) + " (operation " +
         std::to_string(oldest->number()) + ")";
}

bool LeaderPart::BeginSleep() {
  if (exchange_) {
    segment_->bell().PrepareDescriptor();
    exchange_->PrepareWake();
  }
  return !Step() && (!transport_ || transport_->Arm());
}

void LeaderPart::EndSleep() {
  if (exchange_) segment_->bell().Cancel();
}

void LeaderPart::Leave() {
  failure_shared_ = failure_shared_ || idle();  // the other processes may still copy the last result
  // What is done here may have to be received still by nodes that are late.
  if (idle() && engine_.status().ok() && transport_) transport_->LingerFor(timeout_);
  engine_.Leave();
}

std::uint64_t LeaderPart::BytesSentTo(NodeIndex node) const {
  const std::vector<NodeIndex>& neighbours = routes_.neighbours();
  const bool talks = transport_ && std::binary_search(neighbours.begin(), neighbours.end(), node);
  return talks ? transport_->BytesSentTo(node) : 0;
}

std::vector<int> LeaderPart::Descriptors() {
  std::vector<int> descriptors{transport_->EventDescriptor()};
  if (bell_ >= 0) descriptors.push_back(bell_);
  return descriptors;
}

}  // namespace glim::hfreduce
