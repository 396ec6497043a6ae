#include "sdk/hfreduce/engine/testing/sim_cluster.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/hfreduce/engine/direct_operation.h"
#include "sdk/hfreduce/engine/tree_operation.h"

namespace glim::hfreduce {
namespace {

constexpr std::uint32_t kRing = 6;      // results that the processes have not taken yet
constexpr std::size_t kStartedMax = 3;  // by a node at once; others wait for each before they start the next
constexpr std::uint64_t kTurnsMax = 4'000'000;

void Overwrite(std::byte* memory, std::size_t bytes) { std::fill_n(memory, bytes, std::byte{0xdd}); }

// The processes of a node in one operation. Memory that is the processes' again is overwritten at once.
class SimProcesses final : public LocalSide {
 public:
  SimProcesses(const Topology& topology, NodeIndex node, std::uint64_t number, const PlannedOperation& plan)
      : chunking_(plan.chunking), element_(SizeOf(plan.signature.type)) {
    const bool one = plan.signature.kind == Collective::kBroadcast;
    for (std::uint32_t process = 0; process < (one ? 1 : topology.nodes[node].local_ranks); ++process) {
      inputs_.push_back(SimInput(plan.signature.type, chunking_.elements, number, node, process));
    }
    // Also in place, where that is what is asked for most.
    in_place_ = inputs_.size() == 1 && number % 2 == 0;
    destination_.resize(chunking_.elements * element_);
    result_.resize(destination_.size());
  }

  bool Delivered(int half, std::uint32_t chunk) override { return chunk < delivered_[half]; }
  std::span<const void* const> Sources(int half, std::uint32_t chunk) override {
    GLIM_CHECK(Delivered(half, chunk) && chunk >= done_[half], "sources are asked for too early or too late");
    sources_.clear();
    for (const auto& input : inputs_) sources_.push_back(input.data() + OffsetOf(half, chunk));
    return sources_;
  }
  void SourcesRead(int half, std::uint32_t chunk) override {
    for (; read_[half] <= chunk; ++read_[half]) {
      if (in_place_) continue;
      for (auto& input : inputs_) Overwrite(input.data() + OffsetOf(half, read_[half]), BytesOf(half, read_[half]));
    }
  }
  std::byte* Destination(int half, std::uint32_t chunk) override {
    GLIM_CHECK(chunk >= done_[half] && chunk < chunking_.ChunksOf(half), "a destination of a chunk that is done");
    if (chunk >= taken_[half] + kRing) return nullptr;
    return (in_place_ ? inputs_[0].data() : destination_.data()) + OffsetOf(half, chunk);
  }
  void Done(int half, std::uint32_t chunk) override {
    GLIM_CHECK(chunk == done_[half], "chunks are done once, in order");
    SourcesRead(half, chunk);
    ++done_[half];
  }

  // One process does one thing.
  void Advance(Rng& rng) {
    const int half = static_cast<int>(rng.Next() % 2);
    if (rng.OneIn(2)) {
      if (delivered_[half] < chunking_.ChunksOf(half)) ++delivered_[half];
    } else if (taken_[half] < done_[half]) {
      const std::uint32_t chunk = taken_[half]++;
      std::byte* const from = (in_place_ ? inputs_[0].data() : destination_.data()) + OffsetOf(half, chunk);
      std::copy_n(from, BytesOf(half, chunk), result_.data() + OffsetOf(half, chunk));
      Overwrite(from, BytesOf(half, chunk));
    }
  }
  bool idle() const {
    for (int half = 0; half < 2; ++half) {
      if (taken_[half] < chunking_.ChunksOf(half)) return false;
    }
    return true;
  }
  const std::vector<std::byte>& result() const { return result_; }
  std::uint32_t taken(int half) const { return taken_[half]; }
  const Chunking& chunking() const { return chunking_; }

 private:
  std::size_t OffsetOf(int half, std::uint32_t chunk) const { return chunking_.RangeOf(half, chunk).begin * element_; }
  std::size_t BytesOf(int half, std::uint32_t chunk) const { return chunking_.RangeOf(half, chunk).count * element_; }

  Chunking chunking_;
  std::size_t element_;
  bool in_place_ = false;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<const void*> sources_;
  std::vector<std::byte> destination_;
  std::vector<std::byte> result_;
  std::uint32_t delivered_[2] = {};
  std::uint32_t read_[2] = {};
  std::uint32_t done_[2] = {};
  std::uint32_t taken_[2] = {};
};

}  // namespace

struct SimNode {
  SimNode(const Routes& routes, Transport& transport, Duration timeout)
      : routes_(routes), engine_(routes, transport, timeout) {}

  void Plan(const PlannedOperation& operation) {
    plan_.push_back(operation);
    ended_.emplace_back();
  }

  void StartNext() {
    const std::size_t index = processes_.size();
    if (index == plan_.size() || index - ended_count_ >= 1 + routes_.self() % kStartedMax) return;
    const PlannedOperation& plan = plan_[index];
    processes_.push_back(std::make_unique<SimProcesses>(routes_.topology(), routes_.self(), index, plan));
    const OperationSetup setup{.routes = routes_,
                               .chunking = processes_.back()->chunking(),
                               .local = *processes_.back(),
                               .number = index + 1,
                               .signature = plan.signature,
                               .args = {.type = plan.signature.type, .op = plan.signature.op, .divisor = plan.divisor}};
    std::unique_ptr<Operation> operation;
    if (plan.direct) {
      operation = std::make_unique<DirectOperation>(setup);
    } else {
      operation = std::make_unique<TreeOperation>(setup);
    }
    engine_.Start(std::move(operation), [this, index](const Status& status) {
      GLIM_CHECK(!ended_[index].has_value(), "an operation ends once");
      ended_[index] = status;
      ++ended_count_;
    });
  }

  void Turn(Rng& rng, TimePoint now) {
    if (leader_frozen || dead) return;
    if (rng.OneIn(4) && !processes_frozen) StartNext();
    for (auto& processes : processes_) {
      if (!processes_frozen && !processes->idle() && rng.OneIn(2)) processes->Advance(rng);
    }
    engine_.Step();
    if (rng.OneIn(2)) engine_.Tick(now);
    if (leaves && ended_count_ == plan_.size() && engine_.status().ok() && AllIdle()) engine_.Leave();
  }

  bool AllIdle() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->idle(); });
  }
  // What was never started by frozen processes ends with the engine.
  bool Finished() const {
    if (dead || leader_frozen) return true;
    if (leaves && !engine_.closed()) return false;
    if (engine_.closed()) return ended_count_ == processes_.size();
    return ended_count_ == plan_.size() && AllIdle();
  }

  const Routes& routes_;
  Engine engine_;
  std::vector<PlannedOperation> plan_;
  std::vector<std::unique_ptr<SimProcesses>> processes_;
  std::vector<std::optional<Status>> ended_;
  std::size_t ended_count_ = 0;
  bool processes_frozen = false;
  bool leader_frozen = false;
  bool dead = false;
  bool leaves = false;
  bool disconnected = false;
};

std::vector<std::byte> SimInput(DType type, std::size_t count, std::uint64_t operation, NodeIndex node,
                                std::uint32_t process) {
  Rng rng(operation * 1'000'003 + node * 1009 + process);
  std::vector<std::byte> bytes(count * SizeOf(type));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t random = rng.Between(-1'000'000, 1'000'000);
    if (type == DType::kF32) {
      const float value = static_cast<float>(random) / 997;
      std::memcpy(bytes.data() + i * 4, &value, 4);
    } else {
      std::memcpy(bytes.data() + i * SizeOf(type), &random, SizeOf(type));
    }
  }
  return bytes;
}

SimCluster::SimCluster(const Topology& topology, std::uint64_t seed, Duration timeout)
    : topology_(topology),
      routes_([&topology] {
        std::vector<std::unique_ptr<Routes>> routes;
        for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
          routes.push_back(std::make_unique<Routes>(topology, node));
        }
        return routes;
      }()),
      rng_(seed),
      network_(
          [this] {
            std::vector<std::vector<NodeIndex>> neighbours;
            for (const auto& routes : routes_) neighbours.push_back(routes->neighbours());
            return neighbours;
          }(),
          seed + 1) {
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
    nodes_.push_back(std::make_unique<SimNode>(*routes_[node], network_.transport(node), timeout));
  }
}

SimCluster::~SimCluster() = default;

void SimCluster::Plan(const PlannedOperation& operation) {
  for (auto& node : nodes_) node->Plan(operation);
}

void SimCluster::PlanOn(NodeIndex node, const PlannedOperation& operation) { nodes_[node]->Plan(operation); }
void SimCluster::FreezeProcesses(NodeIndex node) { nodes_[node]->processes_frozen = true; }
void SimCluster::FreezeLeader(NodeIndex node) { nodes_[node]->leader_frozen = true; }
void SimCluster::LeaveWhenDone(NodeIndex node) { nodes_[node]->leaves = true; }
Engine& SimCluster::engine(NodeIndex node) { return nodes_[node]->engine_; }
const Routes& SimCluster::routes(NodeIndex node) const { return *routes_[node]; }

void SimCluster::Kill(NodeIndex node) {
  nodes_[node]->dead = true;
  network_.Kill(node, "connection reset");
}

bool SimCluster::AllEnded() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->Finished(); });
}

void SimCluster::RunOnce() {
  if (++turns_ % (4 * nodes_.size()) == 0) now_ = now_ + Milliseconds(1);
  const auto index = static_cast<NodeIndex>(rng_.Next() % nodes_.size());
  SimNode& node = *nodes_[index];
  node.Turn(rng_, now_);
  if (node.engine_.closed() && !node.disconnected && !node.dead) {
    node.disconnected = true;
    network_.Disconnect(index);
  }
}

bool SimCluster::Run(const std::function<bool()>& until) {
  for (turns_ = 0; turns_ < kTurnsMax; RunOnce()) {
    if (turns_ % 16 == 0 && (AllEnded() || until())) return true;
  }
  return false;
}

const std::optional<Status>& SimCluster::StatusOf(NodeIndex node, std::size_t operation) const {
  return nodes_[node]->ended_[operation];
}

std::uint32_t SimCluster::TakenBy(NodeIndex node, std::size_t operation, int half) const {
  const auto& processes = nodes_[node]->processes_;
  return operation < processes.size() ? processes[operation]->taken(half) : 0;
}

const std::vector<std::byte>& SimCluster::ResultOf(NodeIndex node, std::size_t operation) const {
  return nodes_[node]->processes_[operation]->result();
}

}  // namespace glim::hfreduce
