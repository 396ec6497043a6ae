#include "nodeagent/services/hardware_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kWarningsMax = 32;

// Nobody asks the driver of a node that gives no real GPUs to jobs.
bool AsksGpus(const AgentOptions& options) {
  return !options.simulated_gpus && WantedGpus(options.gpus_text) != std::optional<std::uint32_t>(0);
}

HardwareLook LookOf(const AgentOptions& options) {
  HardwareLook look;
  look.program = BesideShim(options, "glim-inventory");
  look.root = options.sys_root;
  look.library = options.nvml;
  look.gpus = AsksGpus(options);
  look.limit = std::chrono::seconds(options.gpu_seconds);
  return look;
}

// Removes `field` from what nobody told.
bool TakeDefault(v1::Hello* hello, const std::string& field) {
  auto& defaults = *hello->mutable_defaults();
  const auto it = std::find(defaults.begin(), defaults.end(), field);
  if (it == defaults.end()) return false;
  defaults.erase(it);
  return true;
}

void AddGpus(const std::vector<GpuPart>& gpus, std::uint32_t count, v1::NodeInventory* out) {
  for (const GpuPart& gpu : gpus) {
    if (static_cast<std::uint32_t>(out->gpus_size()) == count) break;
    v1::GpuDevice& device = *out->add_gpus();
    device.set_index(gpu.index);
    device.set_uuid(gpu.uuid);
    device.set_type(gpu.type);
    device.set_memory_bytes(gpu.memory_bytes);
    device.set_pci(gpu.pci);
    device.set_numa_node(gpu.numa_node);
    for (const std::uint32_t other : gpu.nvlink) device.add_nvlink(other);
  }
}

void AddNode(const NodeParts& parts, v1::NodeInventory* out) {
  for (const NicPart& nic : parts.nics) {
    v1::NicDevice& device = *out->add_nics();
    device.set_name(nic.name);
    device.set_kind(nic.kind);
    device.set_state(nic.state);
    device.set_rate_mbps(nic.rate_mbps);
    device.set_numa_node(nic.numa_node);
    device.set_pci(nic.pci);
  }
  for (const DiskPart& disk : parts.disks) {
    v1::DiskDevice& device = *out->add_disks();
    device.set_name(disk.name);
    device.set_model(disk.model);
    device.set_bytes(disk.bytes);
    device.set_rotational(disk.rotational);
  }
  out->set_cpu_model(parts.cpu_model);
  out->set_cpus(parts.cpus);
  out->set_cores(parts.cores);
  out->set_sockets(parts.sockets);
  out->set_numa_nodes(parts.numa_nodes);
  out->set_memory_bytes(parts.memory_bytes);
  out->set_kernel(parts.kernel);
  out->set_gpu_driver(parts.gpu_driver);
}

std::string MoreThanGiven(std::size_t found, std::uint32_t given) {
  return std::to_string(found) + " GPUs are here, and jobs get the first " + std::to_string(given) + " (--gpus)";
}

}  // namespace

Result<Inventory> LookAtHardware(AgentOptions* options) {
  Inventory found = FindHardware(LookOf(*options));
  const Result<std::uint32_t> count = ChooseGpus(WantedGpus(options->gpus_text), options->simulated_gpus, found);
  if (!count.ok()) return count.status();
  options->gpus = *count;
  if (!found.gpus.asked) {
    LogError("event=gpus_hang seconds={} gpus={} note=\"NVIDIA's driver has not answered; the agent goes on\"",
             options->gpu_seconds, options->gpus);
  } else if (AsksGpus(*options) && *count > 0) {
    LogInfo("event=gpus count={} found={} type={} driver={}", *count, found.gpus.gpus.size(),
            Quoted(found.gpus.gpus[0].type), Quoted(found.node.gpu_driver));
    if (found.gpus.gpus.size() > *count) {
      LogWarning("event=gpus_left_out note={}", Quoted(MoreThanGiven(found.gpus.gpus.size(), *count)));
    }
  }
  for (const std::string& warning : found.gpus.warnings) LogWarning("event=hardware warning={}", Quoted(warning));
  return found;
}

HardwareWatch::HardwareWatch(boost::asio::io_context& io, const AgentOptions& options, Inventory found,
                             std::function<void()> on_news)
    : options_(options),
      on_news_(std::move(on_news)),
      children_(io),
      found_(std::move(found)),
      known_(found_.gpus.gpus),
      hangs_(!found_.gpus.asked) {}

std::unique_ptr<GpuInventory> HardwareWatch::MakeGpus(boost::asio::io_context& io,
                                                      std::function<void()> changed) const {
  if (!AsksGpus(options_) || options_.gpus == 0) return MakeUnaskedGpus(options_.gpus, options_.simulated_gpus);
  const HardwareLook look = LookOf(options_);
  GpuAsking asking;
  asking.command = look.WatchCommand(options_.gpus);
  asking.limit = look.limit;
  asking.hangs = hangs_;
  asking.changed = std::move(changed);
  return MakeAskedGpus(io, options_.gpus, std::move(asking));
}

void HardwareWatch::Look() {
  if (stopped_ || children_.IsThere(look_)) return;
  const HardwareLook look = LookOf(options_);
  const Result<ChildWork::Id> started = children_.Start(
      look.Command(), "", look.limit,
      [this](const ChildWork::Outcome& outcome) { OnFound(InventoryOf(outcome.output, outcome.in_time)); });
  if (started.ok()) look_ = *started;
}

void HardwareWatch::Stop() {
  stopped_ = true;  // the stream that ends with the agent asks for another look
  children_.Stop();
}

void HardwareWatch::OnFound(Inventory found) {
  if (!found.gpus.asked) found.gpus = found_.gpus;  // of a driver that hangs the last word counts
  if (found.node == NodeParts()) found.node = found_.node;
  if (!found.gpus.gpus.empty()) known_ = found.gpus.gpus;
  if (found == found_) return;
  found_ = std::move(found);
  LogInfo("event=hardware_differs note=\"the node is made of something else than at the last look\"");
  on_news_();
}

void HardwareWatch::Introduce(v1::Hello* hello) const {
  v1::NodeInventory& inventory = *hello->mutable_inventory();
  AddNode(found_.node, &inventory);
  AddGpus(found_.gpus.gpus, options_.gpus, &inventory);
  if (found_.gpus.gpus.size() > options_.gpus && AsksGpus(options_)) {
    inventory.add_warnings(MoreThanGiven(found_.gpus.gpus.size(), options_.gpus));
  }
  if (!found_.gpus.asked) inventory.add_warnings("NVIDIA's driver does not answer: GPUs are not seen");
  if (!found_.gpus.error.empty() && options_.gpus > 0) inventory.add_warnings(found_.gpus.error);
  for (const std::string& warning : found_.gpus.warnings) {
    if (static_cast<std::size_t>(inventory.warnings_size()) < kWarningsMax) inventory.add_warnings(warning);
  }
  if (options_.simulated_gpus) return;
  v1::NodeLabels& labels = *hello->mutable_labels();
  if (!known_.empty() && options_.gpus > 0) {
    TakeDefault(hello, "gpus");
    if (TakeDefault(hello, "gpu_type")) labels.set_gpu_type(GpuTypeOf(known_[0].type));
    if (TakeDefault(hello, "nvlink")) labels.set_nvlink(NvlinkOf(known_, options_.gpus));
  }
  const std::string nic = NicOf(found_.node.nics);
  if (!nic.empty() && TakeDefault(hello, "nic")) labels.set_nic(nic);
}

}  // namespace glim::nodeagent
