#include "nodeagent/programs/health/card_source.h"

#include <map>
#include <string>

#include "nodeagent/health/node_rules.h"
#include "nodeagent/programs/health/kernel_folder.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kCardsEvery{60};
constexpr std::chrono::seconds kCardsDeadline{60};

enum class CardKind { kGpu, kNetwork, kOther };

// By the class of PCI: 0x03 displays, 0x02 networks (0x0200 Ethernet, 0x0207 InfiniBand).
CardKind KindOf(const std::string& pci_class) {
  if (pci_class.starts_with("0x0300") || pci_class.starts_with("0x0302")) return CardKind::kGpu;
  if (pci_class.starts_with("0x0200") || pci_class.starts_with("0x0207")) return CardKind::kNetwork;
  return CardKind::kOther;
}

PcieLink LinkOf(const KernelFolder& folder, const std::string& which) {
  return {PcieSpeedOf(folder.Text(which + "_link_speed").value_or("")),
          folder.Number(which + "_link_width").value_or(0)};
}

// A card's folder in the list is a link into the tree, where the folder above it is the bridge's.
Looks LookAtCards(const std::string& root, Memory& memory) {
  Looks looks;
  const KernelFolder cards(root + "/sys/bus/pci/devices");
  for (const std::string& address : cards.Names()) {
    const KernelFolder card = cards.Folder(address);
    const CardKind kind = KindOf(card.Text("class").value_or(""));
    if (kind == CardKind::kOther) continue;
    const KernelFolder bridge = card.Folder("..");
    looks.Add(LookAtCard(
        {address, kind == CardKind::kGpu, LinkOf(card, "current"), LinkOf(card, "max"), LinkOf(bridge, "max")},
        memory));
  }
  return looks;
}

Looks LookAtProcessors(const std::string& root, Memory& memory) {
  std::map<std::string, std::int64_t> packages;
  const KernelFolder cpus(root + "/sys/devices/system/cpu");
  for (const std::string& cpu : cpus.Names()) {
    if (!cpu.starts_with("cpu") || cpu.size() == 3 || cpu[3] < '0' || cpu[3] > '9') continue;
    const KernelFolder folder = cpus.Folder(cpu);
    const auto package = folder.Number("topology/physical_package_id");
    const auto throttles = folder.Number("thermal_throttle/package_throttle_count");
    if (package && throttles) packages.try_emplace("package" + std::to_string(*package), *throttles);
  }
  Looks looks;
  for (const auto& [name, throttles] : packages) looks.Add(LookAtPackage({name, throttles}, memory));
  return looks;
}

}  // namespace

Source CardSource(const HealthOptions& options) {
  return {"cards", options.Every(kCardsEvery), options.Within(kCardsDeadline), [root = options.root](Memory& memory) {
            Looks looks = LookAtCards(root, memory);
            looks.Add(LookAtProcessors(root, memory));
            return looks;
          }};
}

}  // namespace glim::nodeagent::health
