#include "nodeagent/hardware/inventory.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

// What devices say of themselves need not be UTF-8.
std::string Line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

json ToJson(const GpuPart& g) {
  return {{"index", g.index}, {"uuid", g.uuid},           {"type", g.type},    {"memory_bytes", g.memory_bytes},
          {"pci", g.pci},     {"numa_node", g.numa_node}, {"nvlink", g.nvlink}};
}

GpuPart ToGpu(const json& value) {
  GpuPart g;
  value.at("index").get_to(g.index);
  value.at("uuid").get_to(g.uuid);
  value.at("type").get_to(g.type);
  value.at("memory_bytes").get_to(g.memory_bytes);
  value.at("pci").get_to(g.pci);
  value.at("numa_node").get_to(g.numa_node);
  value.at("nvlink").get_to(g.nvlink);
  return g;
}

json ToJson(const NicPart& n) {
  return {{"name", n.name},           {"kind", n.kind},           {"state", n.state},
          {"rate_mbps", n.rate_mbps}, {"numa_node", n.numa_node}, {"pci", n.pci}};
}

NicPart ToNic(const json& value) {
  return {value.at("name"),      value.at("kind"),      value.at("state"),
          value.at("rate_mbps"), value.at("numa_node"), value.at("pci")};
}

json ToJson(const DiskPart& d) {
  return {{"name", d.name}, {"model", d.model}, {"bytes", d.bytes}, {"rotational", d.rotational}};
}

DiskPart ToDisk(const json& value) {
  return {value.at("name"), value.at("model"), value.at("bytes"), value.at("rotational")};
}

template <typename Part>
json ToList(const std::vector<Part>& parts) {
  json list = json::array();
  for (const Part& part : parts) list.push_back(ToJson(part));
  return list;
}

NodeParts ToNode(const json& value) {
  NodeParts parts;
  for (const json& nic : value.at("nics")) parts.nics.push_back(ToNic(nic));
  for (const json& disk : value.at("disks")) parts.disks.push_back(ToDisk(disk));
  value.at("cpu_model").get_to(parts.cpu_model);
  value.at("cpus").get_to(parts.cpus);
  value.at("cores").get_to(parts.cores);
  value.at("sockets").get_to(parts.sockets);
  value.at("numa_nodes").get_to(parts.numa_nodes);
  value.at("memory_bytes").get_to(parts.memory_bytes);
  value.at("kernel").get_to(parts.kernel);
  value.at("gpu_driver").get_to(parts.gpu_driver);
  value.at("bus_gpus").get_to(parts.bus_gpus);
  return parts;
}

GpuParts ToGpus(const json& value) {
  GpuParts parts;
  parts.asked = true;
  for (const json& gpu : value.at("gpus")) parts.gpus.push_back(ToGpu(gpu));
  value.at("error").get_to(parts.error);
  value.at("fix").get_to(parts.fix);
  value.at("warnings").get_to(parts.warnings);
  return parts;
}

}  // namespace

std::string ToLine(const NodeParts& p) {
  return Line({{"nics", ToList(p.nics)},
               {"disks", ToList(p.disks)},
               {"cpu_model", p.cpu_model},
               {"cpus", p.cpus},
               {"cores", p.cores},
               {"sockets", p.sockets},
               {"numa_nodes", p.numa_nodes},
               {"memory_bytes", p.memory_bytes},
               {"kernel", p.kernel},
               {"gpu_driver", p.gpu_driver},
               {"bus_gpus", p.bus_gpus}});
}

std::string ToLine(const GpuParts& p) {
  return Line({{"gpus", ToList(p.gpus)}, {"error", p.error}, {"fix", p.fix}, {"warnings", p.warnings}});
}

Result<Inventory> ParseInventory(const std::string& lines) {
  Inventory inventory;
  try {
    const std::size_t first = lines.find('\n');
    if (first == std::string::npos) return Status(StatusCode::kDataLoss, "glim-inventory said nothing");
    inventory.node = ToNode(json::parse(lines.substr(0, first)));
    const std::size_t second = lines.find('\n', first + 1);
    if (second != std::string::npos) {
      inventory.gpus = ToGpus(json::parse(lines.substr(first + 1, second - first - 1)));
    }
    return inventory;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("what glim-inventory said: ") + error.what());
  }
}

std::string GpuTypeOf(const std::string& name) {
  std::istringstream words(name);
  std::string type;
  for (std::string word; words >> word;) {
    std::string plain;  // A100-SXM4-80GB says more than its type
    for (const char c : word.substr(0, word.find('-'))) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    const bool is_maker = plain == "nvidia" || plain == "tesla" || plain == "geforce" || plain == "quadro";
    if (plain.empty() || (type.empty() && is_maker)) continue;
    if (type.empty() && (plain == "rtx" || plain == "gtx" || plain == "titan")) {
      type = plain + "-";  // a family, whose next word is the type
      continue;
    }
    return type + plain;
  }
  return type.substr(0, type.size() - (type.empty() ? 0 : 1));
}

std::string NvlinkOf(const std::vector<GpuPart>& gpus, std::uint32_t count) {
  count = std::min<std::uint32_t>(count, static_cast<std::uint32_t>(gpus.size()));
  bool full = count > 1, pair = count > 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t others = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::vector<std::uint32_t>& linked = gpus[i].nvlink;
      others += k != i && std::find(linked.begin(), linked.end(), gpus[k].index) != linked.end() ? 1 : 0;
    }
    full = full && others + 1 == count;
    pair = pair && others > 0;
  }
  return full && count > 2 ? "full" : pair ? "pair" : "none";
}

std::string NicOf(const std::vector<NicPart>& nics) {
  const auto has = [&](const char* kind) {
    return std::any_of(nics.begin(), nics.end(), [&](const NicPart& nic) { return nic.kind == kind; });
  };
  return has("infiniband") ? "infiniband" : has("roce") ? "roce" : "";
}

}  // namespace glim::nodeagent
