#include "nodeagent/programs/health/memory_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/health/node_rules.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/programs/health/kernel_folder.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kModulesEvery{2};
constexpr std::chrono::seconds kModulesDeadline{10};
constexpr int kModulesLooksToScan = 30;
constexpr const char* kEdac = "/sys/devices/system/edac/mc";

struct Module {
  ModuleReading reading;
  KernelFolder folder;
  const char* prefix;  // of the counters' names
};

bool IsNumbered(const std::string& name, const std::string& word) {
  return name.starts_with(word) && name.size() > word.size() && name[word.size()] >= '0' && name[word.size()] <= '9';
}

class Modules {
 public:
  explicit Modules(std::string root) : root_(std::move(root)) {}

  Looks Look(Memory& memory) {
    if (looks_++ % kModulesLooksToScan == 0) Scan();
    Looks looks;
    for (Module& module : modules_) {
      module.reading.corrected = module.folder.Number(std::string(module.prefix) + "ce_count");
      module.reading.uncorrected = module.folder.Number(std::string(module.prefix) + "ue_count");
      looks.Add(LookAtModule(module.reading, BootNow().ms, memory));
    }
    return looks;
  }

 private:
  // A controller whose driver knows no modules counts all of them together.
  void Scan() {
    modules_.clear();
    const KernelFolder controllers(root_ + kEdac);
    for (const std::string& controller : controllers.Names()) {
      if (!IsNumbered(controller, "mc")) continue;
      KernelFolder folder = controllers.Folder(controller);
      bool any = false;
      for (const std::string& name : folder.Names()) {
        if (!IsNumbered(name, "dimm") && !IsNumbered(name, "rank")) continue;
        KernelFolder module = folder.Folder(name);
        if (!module.Number("dimm_ce_count")) continue;
        const std::string label = module.Text("dimm_label").value_or("");
        modules_.push_back({{controller + "/" + name, label, {}, {}}, std::move(module), "dimm_"});
        any = true;
      }
      if (!any) modules_.push_back({{controller, "", {}, {}}, std::move(folder), ""});
    }
  }

  const std::string root_;
  int looks_ = 0;
  std::vector<Module> modules_;
};

}  // namespace

Source MemorySource(const HealthOptions& options) {
  const auto modules = std::make_shared<Modules>(options.root);
  return {"memory", options.Every(kModulesEvery), options.Within(kModulesDeadline),
          [modules](Memory& memory) { return modules->Look(memory); }};
}

bool CountsMemoryErrors(const HealthOptions& options) {
  return static_cast<bool>(KernelFolder(options.root + kEdac + "/mc0"));
}

}  // namespace glim::nodeagent::health
