#include "scheduler/server/convert/health_convert.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "sdk/base/cut_text.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

constexpr int kReadingsMax = 64;
constexpr int kGpusFoundMax = 64;
constexpr int kNicsFoundMax = 64;
constexpr int kDisksFoundMax = 256;
constexpr int kWarningsMax = 32;
constexpr std::size_t kCheckMax = 40;
constexpr std::size_t kTextMax = 300;
constexpr std::size_t kNameMax = 128;
constexpr std::size_t kShortMax = 64;
constexpr std::size_t kUnitMax = 16;
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;  // what JSON's numbers hold

// Printable, and short also after it was made so.
std::string Cut(const std::string& text, std::size_t bytes_max) {
  return CutText(Escaped(CutText(text, bytes_max)), bytes_max);
}

std::int64_t Bounded(std::int64_t number) { return std::clamp(number, -kNumberMax, kNumberMax); }

bool IsCheckName(const std::string& name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kCheckMax && std::all_of(name.begin(), name.end(), allowed);
}

core::HealthReading ReadingOf(const v1::HealthEvent& proto) {
  core::HealthReading reading;
  reading.seq = proto.seq();
  reading.check = proto.check();
  reading.device = Cut(proto.device(), kShortMax);
  reading.code = Bounded(proto.code());
  reading.at = TimePoint{std::clamp<std::int64_t>(proto.at_ms(), 0, kNumberMax)};
  reading.text = Cut(proto.text(), kTextMax);
  reading.value = Bounded(proto.value());
  reading.expected = Bounded(proto.expected());
  reading.unit = Cut(proto.unit(), kUnitMax);
  return reading;
}

core::HealthCondition ConditionOf(const v1::HealthCondition& proto) {
  core::HealthCondition condition;
  condition.check = proto.check();
  condition.device = Cut(proto.device(), kShortMax);
  condition.text = Cut(proto.text(), kTextMax);
  condition.value = Bounded(proto.value());
  condition.expected = Bounded(proto.expected());
  condition.unit = Cut(proto.unit(), kUnitMax);
  return condition;
}

core::GpuDevice GpuOf(const v1::GpuDevice& proto) {
  core::GpuDevice gpu;
  gpu.index = proto.index();
  gpu.uuid = Cut(proto.uuid(), kShortMax);
  gpu.type = Cut(proto.type(), kNameMax);
  gpu.memory_bytes = std::clamp<std::int64_t>(proto.memory_bytes(), 0, kNumberMax);
  gpu.pci = Cut(proto.pci(), kShortMax);
  gpu.numa_node = std::max(-1, proto.numa_node());
  const int links = std::min(proto.nvlink_size(), kGpusFoundMax);
  gpu.nvlink.assign(proto.nvlink().begin(), proto.nvlink().begin() + links);
  return gpu;
}

core::NicDevice NicOf(const v1::NicDevice& proto) {
  core::NicDevice nic;
  nic.name = Cut(proto.name(), kShortMax);
  nic.kind = Cut(proto.kind(), kShortMax);
  nic.state = Cut(proto.state(), kShortMax);
  nic.rate_mbps = std::clamp<std::int64_t>(proto.rate_mbps(), 0, kNumberMax);
  nic.numa_node = std::max(-1, proto.numa_node());
  nic.pci = Cut(proto.pci(), kShortMax);
  return nic;
}

core::DiskDevice DiskOf(const v1::DiskDevice& proto) {
  return {.name = Cut(proto.name(), kShortMax),
          .model = Cut(proto.model(), kNameMax),
          .bytes = std::clamp<std::int64_t>(proto.bytes(), 0, kNumberMax),
          .rotational = proto.rotational()};
}

void GpuToProto(const core::GpuDevice& gpu, v1::GpuDevice* out) {
  out->set_index(gpu.index);
  out->set_uuid(gpu.uuid);
  out->set_type(gpu.type);
  out->set_memory_bytes(gpu.memory_bytes);
  out->set_pci(gpu.pci);
  out->set_numa_node(gpu.numa_node);
  for (const std::uint32_t other : gpu.nvlink) out->add_nvlink(other);
}

void NicToProto(const core::NicDevice& nic, v1::NicDevice* out) {
  out->set_name(nic.name);
  out->set_kind(nic.kind);
  out->set_state(nic.state);
  out->set_rate_mbps(nic.rate_mbps);
  out->set_numa_node(nic.numa_node);
  out->set_pci(nic.pci);
}

void DiskToProto(const core::DiskDevice& disk, v1::DiskDevice* out) {
  out->set_name(disk.name);
  out->set_model(disk.model);
  out->set_bytes(disk.bytes);
  out->set_rotational(disk.rotational);
}

}  // namespace

std::shared_ptr<const core::NodeInventory> InventoryOf(const v1::Hello& hello) {
  if (!hello.has_inventory()) return nullptr;
  const v1::NodeInventory& proto = hello.inventory();
  auto inventory = std::make_shared<core::NodeInventory>();
  for (int i = 0; i < std::min(proto.gpus_size(), kGpusFoundMax); ++i) inventory->gpus.push_back(GpuOf(proto.gpus(i)));
  for (int i = 0; i < std::min(proto.nics_size(), kNicsFoundMax); ++i) inventory->nics.push_back(NicOf(proto.nics(i)));
  for (int i = 0; i < std::min(proto.disks_size(), kDisksFoundMax); ++i) {
    inventory->disks.push_back(DiskOf(proto.disks(i)));
  }
  inventory->cpu_model = Cut(proto.cpu_model(), kNameMax);
  inventory->cpus = proto.cpus();
  inventory->cores = proto.cores();
  inventory->sockets = proto.sockets();
  inventory->numa_nodes = proto.numa_nodes();
  inventory->memory_bytes = std::clamp<std::int64_t>(proto.memory_bytes(), 0, kNumberMax);
  inventory->kernel = Cut(proto.kernel(), kNameMax);
  inventory->gpu_driver = Cut(proto.gpu_driver(), kShortMax);
  for (int i = 0; i < std::min(proto.warnings_size(), kWarningsMax); ++i) {
    inventory->warnings.push_back(Cut(proto.warnings(i), kTextMax));
  }
  return inventory;
}

void HealthToEvent(const v1::NodeReport& report, core::NodeReported* event) {
  event->health_boot = Cut(report.health_boot(), kNameMax);
  for (int i = std::max(0, report.health_events_size() - kReadingsMax); i < report.health_events_size(); ++i) {
    const v1::HealthEvent& told = report.health_events(i);
    if (told.seq() > 0 && IsCheckName(told.check())) event->health_events.push_back(ReadingOf(told));
  }
  auto& conditions = event->health_conditions;
  for (const v1::HealthCondition& told : report.health_conditions()) {
    if (conditions.size() == core::kHealthConditionsMax) break;
    if (!IsCheckName(told.check())) continue;
    core::HealthCondition condition = ConditionOf(told);
    const bool again = std::any_of(conditions.begin(), conditions.end(), [&](const core::HealthCondition& one) {
      return one.check == condition.check && one.device == condition.device;
    });
    if (!again) conditions.push_back(std::move(condition));
  }
}

void InventoryToProto(const core::NodeInventory& inventory, v1::NodeInventory* out) {
  for (const core::GpuDevice& gpu : inventory.gpus) GpuToProto(gpu, out->add_gpus());
  for (const core::NicDevice& nic : inventory.nics) NicToProto(nic, out->add_nics());
  for (const core::DiskDevice& disk : inventory.disks) DiskToProto(disk, out->add_disks());
  out->set_cpu_model(inventory.cpu_model);
  out->set_cpus(inventory.cpus);
  out->set_cores(inventory.cores);
  out->set_sockets(inventory.sockets);
  out->set_numa_nodes(inventory.numa_nodes);
  out->set_memory_bytes(inventory.memory_bytes);
  out->set_kernel(inventory.kernel);
  out->set_gpu_driver(inventory.gpu_driver);
  for (const std::string& warning : inventory.warnings) out->add_warnings(warning);
}

void HealthEventsToProto(const core::Node& node, v1::Node* out) {
  for (auto event = node.health_events.rbegin(); event != node.health_events.rend(); ++event) {
    v1::HealthEvent* const shown = out->add_health_events();
    shown->set_check(event->check);
    shown->set_device(event->device);
    shown->set_code(event->code);
    shown->set_text(event->text);
    shown->set_at_ms(event->at.ms);
    shown->set_value(event->value);
    shown->set_expected(event->expected);
    shown->set_unit(event->unit);
    shown->set_verdict(core::ToString(event->verdict));
    shown->set_job_id(event->job.value);
  }
}

void FailuresToProto(const core::Node& node, v1::Node* out) {
  for (auto failure = node.failures.rbegin(); failure != node.failures.rend(); ++failure) {
    v1::NodeFailure* const shown = out->add_failures();
    shown->set_at_ms(failure->at.ms);
    shown->set_cause(failure->cause);
    shown->set_device(failure->device);
    shown->set_job_id(failure->job.value);
  }
}

void HealthConditionsToProto(const core::Node& node, v1::Node* out) {
  for (const core::HealthCondition& condition : node.health_conditions) {
    v1::HealthCondition* const shown = out->add_health_conditions();
    shown->set_check(condition.check);
    shown->set_device(condition.device);
    shown->set_text(condition.text);
    shown->set_value(condition.value);
    shown->set_expected(condition.expected);
    shown->set_unit(condition.unit);
    shown->set_since_ms(condition.since.ms);
    shown->set_verdict(core::ToString(condition.verdict));
  }
}

void ValidationToProto(const core::Node& node, v1::Node* out) {
  const core::NodeValidation& validation = node.validation;
  if (validation == core::NodeValidation()) return;
  v1::NodeValidation& shown = *out->mutable_validation();
  shown.set_need(core::ToString(validation.need));
  shown.set_since_ms(validation.since.ms);
  shown.set_job_id(validation.job.value);
  shown.set_good_at_ms(validation.good_at.ms);
  shown.set_bad(validation.bad);
  shown.set_again_at_ms(validation.again_at.ms);
  shown.set_last_job_id(validation.last.value);
}

}  // namespace glim::server
