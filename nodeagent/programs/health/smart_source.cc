#include "nodeagent/programs/health/smart_source.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/health/smart_rules.h"
#include "nodeagent/health/wire/smart_document.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/programs/health/kernel_folder.h"

namespace glim::nodeagent::health {
namespace {

// The first question comes after one turn: a machine that starts has enough to do. Until then the readings that were
// kept are told.
constexpr std::chrono::minutes kSmartTurn{3};
// Of all disks together: each question has its own bound.
constexpr std::chrono::hours kSmartDeadline{2};

// Loop and RAM disks, device-mapper, RAID and the like have no device below them; a path of an NVMe disk that has
// several is hidden; what can be taken out is no part of the node.
std::vector<std::string> DisksOf(const std::string& root) {
  const KernelFolder block(root + "/sys/block");
  std::vector<std::string> disks;
  for (const std::string& name : block.Names()) {
    const KernelFolder disk = block.Folder(name);
    if (disk.Folder("device") && disk.Number("removable").value_or(0) == 0 && disk.Number("hidden").value_or(0) == 0) {
      disks.push_back(name);
    }
  }
  return disks;
}

class SmartDisks {
 public:
  SmartDisks(const HealthOptions& options, SmartHelper helper)
      : root_(options.root),
        wanted_(!options.smartctl.empty()),
        every_(options.Every(options.smart_every)),
        helper_(std::move(helper)) {}

  Looks Look(Memory& memory) {
    if (!wanted_) return {};
    const std::vector<std::string> disks = DisksOf(root_);
    if (std::exchange(begun_, true)) AskThem(disks, memory);
    return LookAtKeptReadings(disks, memory);
  }

 private:
  void AskThem(const std::vector<std::string>& disks, Memory& memory) {
    const bool all = BootNow().ms >= due_ms_;
    if (all) due_ms_ = BootNow().ms + every_.count();
    std::erase_if(asked_, [&](const std::string& disk) {
      return all || std::find(disks.begin(), disks.end(), disk) == disks.end();
    });
    for (const std::string& disk : disks) {
      if (!asked_.insert(disk).second) continue;
      const Result<std::string> document = helper_.Ask(disk);
      const Result<SmartReading> reading =
          document.ok() ? ParseSmartDocument(*document) : Result<SmartReading>(document.status());
      if (reading.ok()) {
        KeepReading(disk, *reading, memory);
      } else {
        Complain(disk, reading.status().message());
      }
    }
  }

  // Nobody is taken out for it: most disks that do not answer are a virtual machine's.
  void Complain(const std::string& disk, const std::string& why) {
    if (!complaints_.insert(why).second) return;
    std::fprintf(stderr, "glim-health: what %s says of itself is not known: %s\n", disk.c_str(), MakeText(why).c_str());
  }

  const std::string root_;
  const bool wanted_;
  const std::chrono::milliseconds every_;
  SmartHelper helper_;
  bool begun_ = false;
  std::int64_t due_ms_ = 0;
  std::set<std::string> asked_;       // since all were
  std::set<std::string> complaints_;  // each is told once
};

}  // namespace

Source SmartSource(const HealthOptions& options, SmartHelper helper) {
  const auto disks = std::make_shared<SmartDisks>(options, std::move(helper));
  return {"disk health", std::min(options.Every(kSmartTurn), options.Every(options.smart_every)), kSmartDeadline,
          [disks](Memory& memory) { return disks->Look(memory); }};
}

}  // namespace glim::nodeagent::health
