#include "tests/bench/simulated_hardware.h"

#include <algorithm>
#include <utility>

#include "nodeagent/health/wire/health_state.h"

namespace glim::bench {

namespace health = nodeagent::health;

namespace {

constexpr std::int64_t kRate = 200'000;

health::GpuReading SoundGpu(int number) {
  health::GpuReading gpu;
  gpu.pci = "0000:" + std::to_string(10 + number) + ":00.0";
  gpu.corrected = gpu.uncorrected = 0;
  for (std::uint32_t link = 0; link < 12; ++link) gpu.links.push_back({link, true});
  gpu.width = gpu.most_width = 16;
  gpu.generation = gpu.most_generation = 4;
  gpu.busy_percent = 90;
  return gpu;
}

core::HealthCondition ConditionOf(const health::Finding& finding) {
  core::HealthCondition condition;
  condition.check = finding.check;
  condition.device = finding.device;
  condition.text = finding.text;
  condition.value = finding.value;
  condition.expected = finding.expected;
  condition.unit = finding.unit;
  return condition;
}

bool IsAlike(const core::HealthCondition& a, const core::HealthCondition& b) {
  return a.check == b.check && a.device == b.device;
}

}  // namespace

SimulatedHardware::SimulatedHardware() { Repair(); }

void SimulatedHardware::Repair() {
  port = {};
  port.name = "mlx5_0/1";
  port.active = true;
  port.state = "ACTIVE, LinkUp";
  port.rate_mbps = kRate;
  port.downed = port.symbol_errors = port.recoveries = 0;
  gpus.clear();
  for (int i = 0; i < kGpus; ++i) gpus.push_back(SoundGpu(i));
  module = {"mc0/dimm0", "DIMM_A1", 0, 0};
  card = {"0000:b1:00.0", false, {16'000, 16}, {16'000, 16}, {16'000, 16}};
  package = {"package0", 0};
  disk_read_only = false;
  Boot();
}

void SimulatedHardware::Boot() {
  boot_ = "boot-" + std::to_string(++boots_);
  for (auto* memory : {&ports_, &modules_, &cards_, &disks_, &gpu_memory_}) memory->clear();
  log_.emplace(health::KernelReader::Begin{});
  record_ = seq_ = 0;
  events_.clear();
  conditions_.clear();
  port.downed = port.symbol_errors = port.recoveries = 0;
  module.corrected = module.uncorrected = 0;
  package.throttles = 0;
  for (health::GpuReading& gpu : gpus) gpu.corrected = gpu.uncorrected = 0;
  news_ = true;
}

void SimulatedHardware::Look(TimePoint now) {
  health::Looks looks = health::LookAtPort(port, now.ms, ports_);
  looks.Add(health::LookAtModule(module, now.ms, modules_));
  looks.Add(health::LookAtCard(card, cards_));
  looks.Add(health::LookAtPackage(package, cards_));
  looks.Add(health::LookAtMounts(disk_read_only ? "/dev/sda1 / ext4 ro 0 0\n" : "/dev/sda1 / ext4 rw 0 0\n", disks_));
  looks.Add(health::LookAtGpus(gpus, now.ms, gpu_memory_));
  TakeEvents(looks.events);
  std::vector<core::HealthCondition> so;
  for (const health::Finding& finding : looks.conditions) {
    const core::HealthCondition condition = ConditionOf(finding);
    const bool known = std::any_of(so.begin(), so.end(), [&](const auto& other) { return IsAlike(other, condition); });
    if (!known) so.push_back(condition);
  }
  news_ = news_ || so != conditions_;
  conditions_ = std::move(so);
}

void SimulatedHardware::Say(TimePoint now, const std::string& text, int facility) {
  const std::string head = std::to_string(8 * facility + 4) + "," + std::to_string(++record_) + ",1000000,-;";
  log_->Read(head + text, now.ms);
  TakeEvents(log_->Due(now.ms + health::kHoldMs));
}

void SimulatedHardware::TakeEvents(const std::vector<health::Finding>& found) {
  for (const health::Finding& finding : found) {
    core::HealthReading reading;
    reading.seq = ++seq_;
    reading.check = finding.check;
    reading.device = finding.device;
    reading.code = finding.code;
    reading.text = finding.text;
    reading.value = finding.value;
    reading.expected = finding.expected;
    reading.unit = finding.unit;
    events_.push_back(std::move(reading));
    news_ = true;
  }
  if (events_.size() > health::kEventsKept) {
    events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(health::kEventsKept));
  }
}

bool SimulatedHardware::TakeNews() { return std::exchange(news_, false); }

}  // namespace glim::bench
