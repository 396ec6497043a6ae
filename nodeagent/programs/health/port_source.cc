#include "nodeagent/programs/health/port_source.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "nodeagent/health/port_rules.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/programs/health/kernel_folder.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kDeadline{10};
constexpr int kLooksToScan = 60;                    // how often what is there is looked for
constexpr const char* kInfinibandInterface = "32";  // ARPHRD_INFINIBAND: its port is looked at already

struct Port {
  std::string name;
  KernelFolder folder;
  KernelFolder counters;
};

struct Interface {
  std::string name;
  KernelFolder folder;
};

// "4: ACTIVE" without the number.
std::string WordOf(const std::optional<std::string>& state) {
  if (!state) return "gone";
  const std::size_t at = state->find(": ");
  return at == std::string::npos ? *state : state->substr(at + 2);
}

class Ports {
 public:
  explicit Ports(std::string root) : root_(std::move(root)) {}

  Looks Look(Memory& memory) {
    if (looks_++ % kLooksToScan == 0) Scan(memory);
    const std::int64_t now_ms = BootNow().ms;
    Looks looks;
    for (const Port& port : ports_) looks.Add(LookAtPort(Read(port), now_ms, memory));
    for (const Interface& interface : interfaces_) {
      const std::string state = interface.folder.Text("operstate").value_or("gone");
      looks.Add(LookAtInterface({interface.name, state == "up" || state == "unknown", state}, memory));
    }
    return looks;
  }

 private:
  static PortReading Read(const Port& port) {
    PortReading reading;
    reading.name = port.name;
    const std::string state = WordOf(port.folder.Text("state"));
    reading.active = state == "ACTIVE";
    reading.state = state == "gone" ? state : state + ", " + WordOf(port.folder.Text("phys_state"));
    reading.rate_mbps = RateOf(port.folder.Text("rate").value_or(""));
    reading.downed = port.counters.Number("link_downed");
    reading.symbol_errors = port.counters.Number("symbol_error");
    reading.recoveries = port.counters.Number("link_error_recovery");
    return reading;
  }

  // A port that was active since the boot and is not there any more stays among them.
  void Scan(const Memory& memory) {
    ports_.clear();
    interfaces_.clear();
    const KernelFolder devices(root_ + "/sys/class/infiniband");
    for (const std::string& device : devices.Names()) {
      const KernelFolder ports = devices.Folder(device + "/ports");
      for (const std::string& number : ports.Names()) {
        KernelFolder folder = ports.Folder(number);
        KernelFolder counters = folder.Folder("counters");
        ports_.push_back({device + "/" + number, std::move(folder), std::move(counters)});
      }
    }
    for (const auto& [key, one] : memory) {
      if (!key.ends_with(" up") || key.find('/') == std::string::npos) continue;
      const std::string name = key.substr(0, key.size() - 3);
      const auto is_it = [&](const Port& port) { return port.name == name; };
      if (std::none_of(ports_.begin(), ports_.end(), is_it)) ports_.push_back({name, {}, {}});
    }
    const KernelFolder interfaces(root_ + "/sys/class/net");
    for (const std::string& name : interfaces.Names()) {
      KernelFolder folder = interfaces.Folder(name);
      if (!folder.Folder("device") || folder.Text("type") == kInfinibandInterface) continue;
      interfaces_.push_back({name, std::move(folder)});
    }
  }

  const std::string root_;
  int looks_ = 0;
  std::vector<Port> ports_;
  std::vector<Interface> interfaces_;
};

}  // namespace

Source PortSource(const HealthOptions& options) {
  const auto ports = std::make_shared<Ports>(options.root);
  return {"ports", options.Every(kEvery), options.Within(kDeadline),
          [ports](Memory& memory) { return ports->Look(memory); }};
}

}  // namespace glim::nodeagent::health
