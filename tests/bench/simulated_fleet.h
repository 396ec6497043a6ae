// Nodes with simulated hardware under the scheduler's real core, full of users' jobs of one node each: what a benchmark
// lets happen there, and what the core does about it. Virtual time; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/core.h"
#include "scheduler/core/testing/scripted_agent.h"
#include "sdk/base/rng.h"
#include "tests/bench/simulated_hardware.h"

namespace glim::bench {

class SimulatedFleet {
 public:
  SimulatedFleet(std::uint32_t nodes, std::uint32_t users, Rng& rng);

  std::size_t size() const { return hardware_.size(); }
  TimePoint now() const { return now_; }
  SimulatedHardware& hardware(std::size_t i) { return hardware_[i]; }
  const core::Node& node(std::size_t i) const { return *state_.FindNode(ids_[i]); }
  // Whose job holds the node; empty: nobody's.
  std::string UserOf(std::size_t i) const;

  // Timers that are due are taken in on the way.
  void AdvanceTo(TimePoint then);
  // A look at the hardware, and a report if that found something. `always`: a report anyway.
  void Look(std::size_t i, bool always = false);
  void Report(std::size_t i);
  // The job's program ends with this code; another job comes.
  void EndJob(std::size_t i, std::int32_t code);
  // A new process, which tells everything that the one before told.
  void RestartAgent(std::size_t i);
  // What ran there is gone. The port comes up after the first look.
  void Reboot(std::size_t i);
  void Uncordon(std::size_t i);

 private:
  core::Reply Do(decltype(core::Event::what) what);
  void Connect(std::size_t i);
  void Settle();
  void FillNodes();

  Rng& rng_;
  const std::uint32_t users_;
  core::Policy policy_;
  core::ClusterState state_;
  TimePoint now_{Hours(1).ms};
  std::uint64_t seq_ = 0, session_ = 0;
  std::set<core::NodeId> unsynced_;
  std::vector<core::NodeId> ids_;
  std::vector<std::uint64_t> sessions_;
  std::vector<core::testing::ScriptedAgent> agents_;
  std::vector<SimulatedHardware> hardware_;
};

}  // namespace glim::bench
