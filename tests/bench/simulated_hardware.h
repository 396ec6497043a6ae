// A node's hardware as glim-health's rules see it, without files: readings that a benchmark changes, lines of the
// kernel's log, and what the node's agent tells of them. The rules are the real ones (nodeagent/health). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/conditions.h"
#include "nodeagent/health/disk_rules.h"
#include "nodeagent/health/gpu_rules.h"
#include "nodeagent/health/kernel_reader.h"
#include "nodeagent/health/node_rules.h"
#include "nodeagent/health/port_rules.h"
#include "scheduler/core/model/health.h"
#include "sdk/base/time.h"

namespace glim::bench {

class SimulatedHardware {
 public:
  static constexpr int kGpus = 8;

  SimulatedHardware();

  // What the next look reads.
  nodeagent::health::PortReading port;
  std::vector<nodeagent::health::GpuReading> gpus;
  nodeagent::health::ModuleReading module;
  nodeagent::health::CardReading card;
  nodeagent::health::PackageReading package;
  bool disk_read_only = false;

  // A look of every source.
  void Look(TimePoint now);
  // A line of the kernel's log; another facility than 0 is a program's.
  void Say(TimePoint now, const std::string& text, int facility = 0);
  // The hardware is sound, and the machine begins anew: what was counted is forgotten, and numbers begin with 1.
  void Repair();
  void Boot();

  // What the agent tells: the newest events that it keeps, again and again; what is so now.
  const std::string& boot() const { return boot_; }
  const std::vector<core::HealthReading>& events() const { return events_; }
  const std::vector<core::HealthCondition>& conditions() const { return conditions_; }
  // Whether there is more to tell than at the last call.
  bool TakeNews();

  std::string Pci(int gpu) const { return gpus[static_cast<std::size_t>(gpu)].pci; }

 private:
  void TakeEvents(const std::vector<nodeagent::health::Finding>& found);

  nodeagent::health::Memory ports_, modules_, cards_, disks_, gpu_memory_;
  std::optional<nodeagent::health::KernelReader> log_;
  std::uint64_t record_ = 0, seq_ = 0;
  int boots_ = 0;
  std::string boot_;
  std::vector<core::HealthReading> events_;
  std::vector<core::HealthCondition> conditions_;
  bool news_ = false;
};

}  // namespace glim::bench
