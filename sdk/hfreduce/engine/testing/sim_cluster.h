// Engines of many nodes over a SimNetwork, with local processes that deliver and take at moments drawn from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sdk/base/rng.h"
#include "sdk/hfreduce/engine/engine.h"
#include "sdk/hfreduce/engine/testing/sim_transport.h"

namespace glim::hfreduce {

struct PlannedOperation {
  Signature signature;
  Chunking chunking;
  bool direct = false;
  std::size_t divisor = 1;
};

// What a process contributes, and what becomes of it. Inputs are a function of operation, node and process.
std::vector<std::byte> SimInput(DType type, std::size_t count, std::uint64_t operation, NodeIndex node,
                                std::uint32_t process);

struct SimNode;

// Not thread-safe. Deterministic: a failure is replayed by its topology, plan and seed.
class SimCluster {
 public:
  SimCluster(const Topology& topology, std::uint64_t seed, Duration timeout = Seconds(3600));
  ~SimCluster();

  void Plan(const PlannedOperation& operation);
  void PlanOn(NodeIndex node, const PlannedOperation& operation);
  // Its processes stop delivering and taking, its leader goes on.
  void FreezeProcesses(NodeIndex node);
  // Its leader stands still, its connections stay.
  void FreezeLeader(NodeIndex node);
  void Kill(NodeIndex node);
  // As a destroyed communicator: leaves, and disconnects when closed.
  void LeaveWhenDone(NodeIndex node);

  // Runs until every operation of every running node has ended, or the condition holds. False: it goes on forever.
  bool Run(const std::function<bool()>& until = [] { return false; });

  SimNetwork& network() { return network_; }
  Engine& engine(NodeIndex node);
  const Routes& routes(NodeIndex node) const;
  // None: not ended.
  const std::optional<Status>& StatusOf(NodeIndex node, std::size_t operation) const;
  // Chunks of a half whose result the node's processes have.
  std::uint32_t TakenBy(NodeIndex node, std::size_t operation, int half) const;
  // As the processes took it. Operations count from 0 here.
  const std::vector<std::byte>& ResultOf(NodeIndex node, std::size_t operation) const;

 private:
  bool AllEnded() const;
  void RunOnce();

  Topology topology_;
  std::vector<std::unique_ptr<Routes>> routes_;
  Rng rng_;
  SimNetwork network_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  TimePoint now_{1};
  std::uint64_t turns_ = 0;
};

}  // namespace glim::hfreduce
