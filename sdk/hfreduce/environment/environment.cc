#include "sdk/hfreduce/environment/environment.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace glim::hfreduce {
namespace {

constexpr std::uint32_t kPortMax = 65535;
constexpr std::uint32_t kServiceLevelMax = 15;

Status Wrong(const std::string& variable, const std::string& what, const std::string& fix) {
  return InvalidArgument(variable, variable + ": " + what, fix);
}

class Variables {
 public:
  explicit Variables(const Lookup& lookup) : lookup_(lookup) {}

  bool Has(const char* name) const { return lookup_(name).has_value(); }
  std::string OrEmpty(const char* name) const { return lookup_(name).value_or(""); }

  Result<std::string> Text(const char* name) const {
    std::optional<std::string> text = lookup_(name);
    if (text && !text->empty()) return *std::move(text);
    return Wrong(name, "it is not set", "run under Glim or torchrun, or give the arguments explicitly");
  }

  Result<std::uint32_t> Number(const char* name, std::uint32_t least, std::uint32_t most) const {
    const Result<std::string> text = Text(name);
    if (!text.ok()) return text.status();
    return Parse(name, *text, least, most);
  }

  static Result<std::uint32_t> Parse(const char* name, const std::string& text, std::uint32_t least,
                                     std::uint32_t most) {
    std::uint32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (whole && value >= least && value <= most) return value;
    return Wrong(name, "'" + text + "' is not a number from " + std::to_string(least) + " to " + std::to_string(most),
                 "leave it as the platform sets it");
  }

 private:
  const Lookup& lookup_;
};

// An empty text is one empty element: the only node's zone may have no name.
std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

struct Ranks {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t per_node = 1;
};

Result<Ranks> RanksOf(const Variables& variables) {
  const Result<std::uint32_t> world = variables.Number("WORLD_SIZE", 1, kRanksMax);
  if (!world.ok()) return world.status();
  const Result<std::uint32_t> rank = variables.Number("RANK", 0, *world - 1);
  if (!rank.ok()) return rank.status();
  const Result<std::uint32_t> per_node = variables.Number("LOCAL_WORLD_SIZE", 1, kLocalRanksMax);
  if (!per_node.ok()) return per_node.status();
  const Result<std::uint32_t> local_rank = variables.Number("LOCAL_RANK", 0, *per_node - 1);
  if (!local_rank.ok()) return local_rank.status();
  if (*world % *per_node != 0) {
    return Wrong(
        "WORLD_SIZE",
        std::to_string(*world) + " ranks are no whole number of nodes of LOCAL_WORLD_SIZE " + std::to_string(*per_node),
        "start as many ranks on every node");
  }
  if (*rank % *per_node != *local_rank) {
    return Wrong("LOCAL_RANK",
                 "rank " + std::to_string(*rank) + " has " + std::to_string(*local_rank) +
                     ", but ranks follow each other by node",
                 "number the ranks node by node");
  }
  return Ranks{*rank, *world, *per_node};
}

// With `launcher: node` the job's command runs once a node, and is a rank unless it starts some by itself (torchrun).
Result<Ranks> RanksOnGlim(const Variables& variables, std::uint32_t nodes) {
  const Result<std::uint32_t> node = variables.Number("GLIM_NODE_RANK", 0, nodes - 1);
  if (!node.ok()) return node.status();
  if (!variables.Has("RANK") && !variables.Has("WORLD_SIZE")) return Ranks{*node, nodes, 1};
  Result<Ranks> ranks = RanksOf(variables);
  if (!ranks.ok()) return ranks;
  if (ranks->world / ranks->per_node != nodes) {
    return Wrong("WORLD_SIZE",
                 std::to_string(ranks->world) + " ranks, " + std::to_string(ranks->per_node) + " a node, on the " +
                     std::to_string(nodes) + " nodes of GLIM_HOSTS",
                 "start as many ranks on every node");
  }
  if (ranks->rank / ranks->per_node != *node) {
    return Wrong("RANK", "rank " + std::to_string(ranks->rank) + " is on node " + std::to_string(*node),
                 "number the ranks in the order of GLIM_HOSTS");
  }
  return ranks;
}

Result<Topology> TopologyOf(const Variables& variables, std::uint32_t nodes, std::uint32_t per_node) {
  const std::vector<std::string> names = Split(variables.OrEmpty("GLIM_ZONES"));
  if (names.size() != nodes) {
    return Wrong("GLIM_ZONES",
                 std::to_string(names.size()) + " zones for the " + std::to_string(nodes) + " nodes of GLIM_HOSTS",
                 "leave it as the platform sets it");
  }
  Topology topology;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::uint32_t zone = topology.nodes.empty() ? 0 : topology.nodes.back().zone;
    if (node > 0 && names[node] != names[node - 1]) ++zone;
    if (zone > 1) {
      return Wrong("GLIM_ZONES", "the nodes are not those of one zone followed by those of another",
                   "run the job in at most two zones");
    }
    topology.nodes.push_back({zone, per_node});
  }
  if (topology.nodes.back().zone == 0) {
    topology.gateways = {0};
    return topology;
  }
  const Result<std::string> listed = variables.Text("GLIM_GATEWAYS");
  if (!listed.ok()) return listed.status();
  for (const std::string& gateway : Split(*listed)) {
    const Result<std::uint32_t> node = Variables::Parse("GLIM_GATEWAYS", gateway, 0, nodes - 1);
    if (!node.ok()) return node.status();
    topology.gateways.push_back(*node);
  }
  if (Status status = topology.Check(); !status.ok()) {
    return Wrong("GLIM_GATEWAYS", "'" + *listed + "': " + status.message(), "leave it as the platform sets it");
  }
  return topology;
}

Status AddDevice(const Variables& variables, CommunicatorOptions& options) {
  if (options.device.empty() && variables.Has("GLIM_HFREDUCE_DEVICE")) {
    const Result<std::string> device = variables.Text("GLIM_HFREDUCE_DEVICE");
    if (!device.ok()) return device.status();
    options.device = *device;
  }
  if (options.service_level < 0 && variables.Has("GLIM_HFREDUCE_SERVICE_LEVEL")) {
    const Result<std::uint32_t> level = variables.Number("GLIM_HFREDUCE_SERVICE_LEVEL", 0, kServiceLevelMax);
    if (!level.ok()) return level.status();
    options.service_level = static_cast<int>(*level);
  }
  return Status::Ok();
}

Result<Environment> OnGlim(const Variables& variables, const CommunicatorOptions& options) {
  Environment environment{.options = options};
  const Result<std::string> listed = variables.Text("GLIM_HOSTS");
  if (!listed.ok()) return listed.status();
  const std::vector<std::string> hosts = Split(*listed);
  const auto nodes = static_cast<std::uint32_t>(hosts.size());
  const Result<Ranks> ranks = RanksOnGlim(variables, nodes);
  if (!ranks.ok()) return ranks.status();
  Result<Topology> topology = TopologyOf(variables, nodes, ranks->per_node);
  if (!topology.ok()) return topology.status();
  const Result<std::uint32_t> port = variables.Number("GLIM_HFREDUCE_PORT", 1, kPortMax);
  if (!port.ok()) return port.status();
  const Result<std::string> job = variables.Text("GLIM_JOB_ID");
  if (!job.ok()) return job.status();
  const Result<std::string> attempt = variables.Text("GLIM_ATTEMPT");
  if (!attempt.ok()) return attempt.status();
  if (Status status = AddDevice(variables, environment.options); !status.ok()) return status;
  environment.topology = std::move(*topology);
  environment.rank = ranks->rank;
  environment.store_host = hosts[0];
  environment.store_port = static_cast<std::uint16_t>(*port);
  environment.options.id = *job + "." + *attempt + "-" + options.id;
  environment.options.listen = hosts[ranks->rank / ranks->per_node];
  return environment;
}

Result<Environment> WithoutGlim(const Variables& variables, const CommunicatorOptions& options) {
  Environment environment{.options = options};
  const Result<Ranks> ranks = RanksOf(variables);
  if (!ranks.ok()) return ranks.status();
  Result<std::string> host = variables.Text("MASTER_ADDR");
  if (!host.ok()) return host.status();
  const bool chosen = variables.Has("GLIM_HFREDUCE_PORT");
  // Torch listens on the port itself.
  const Result<std::uint32_t> port =
      chosen ? variables.Number("GLIM_HFREDUCE_PORT", 1, kPortMax) : variables.Number("MASTER_PORT", 1, kPortMax - 1);
  if (!port.ok()) return port.status();
  if (Status status = AddDevice(variables, environment.options); !status.ok()) return status;
  environment.topology = EvenTopology({ranks->world / ranks->per_node}, ranks->per_node);
  environment.rank = ranks->rank;
  environment.store_host = std::move(*host);
  environment.store_port = static_cast<std::uint16_t>(chosen ? *port : *port + 1);
  environment.options.id = "port" + std::to_string(environment.store_port) + "-" + options.id;
  environment.options.listen.clear();
  return environment;
}

}  // namespace

Result<Environment> EnvironmentOf(const Lookup& lookup, const CommunicatorOptions& options) {
  const Variables variables(lookup);
  return variables.Has("GLIM_HOSTS") ? OnGlim(variables, options) : WithoutGlim(variables, options);
}

}  // namespace glim::hfreduce
