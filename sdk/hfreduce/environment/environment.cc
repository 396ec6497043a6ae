#include "sdk/hfreduce/environment/environment.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sdk/io/read_file.h"

namespace glim::hfreduce {
namespace {

constexpr std::uint32_t kPortMax = 65535;
constexpr std::uint32_t kServiceLevelMax = 15;
constexpr std::size_t kListFileBytesMax = 16 << 20;

struct Ranks {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t per_node = 1;
};

Result<Ranks> RanksOf(const VariableReader& variables) {
  const Result<std::uint32_t> world = variables.Number(TaskVariable::kWorldSize, 1, kRanksMax);
  if (!world.ok()) return world.status();
  const Result<std::uint32_t> rank = variables.Number(TaskVariable::kRank, 0, *world - 1);
  if (!rank.ok()) return rank.status();
  const Result<std::uint32_t> per_node = variables.Number(TaskVariable::kLocalWorldSize, 1, kLocalRanksMax);
  if (!per_node.ok()) return per_node.status();
  const Result<std::uint32_t> local_rank = variables.Number(TaskVariable::kLocalRank, 0, *per_node - 1);
  if (!local_rank.ok()) return local_rank.status();
  if (*world % *per_node != 0) {
    return WrongVariable(
        TaskVariable::kWorldSize,
        std::to_string(*world) + " ranks are no whole number of nodes of LOCAL_WORLD_SIZE " + std::to_string(*per_node),
        "start as many ranks on every node");
  }
  if (*rank % *per_node != *local_rank) {
    return WrongVariable(TaskVariable::kLocalRank,
                         "rank " + std::to_string(*rank) + " has " + std::to_string(*local_rank) +
                             ", but ranks follow each other by node",
                         "number the ranks node by node");
  }
  return Ranks{*rank, *world, *per_node};
}

// With `launcher: node` the job's command runs once a node, and is a rank unless it starts some by itself (torchrun).
Result<Ranks> RanksOnGlim(const VariableReader& variables, std::uint32_t nodes) {
  const Result<std::uint32_t> node = variables.Number(TaskVariable::kNodeRank, 0, nodes - 1);
  if (!node.ok()) return node.status();
  if (!variables.Has(TaskVariable::kRank) && !variables.Has(TaskVariable::kWorldSize)) return Ranks{*node, nodes, 1};
  Result<Ranks> ranks = RanksOf(variables);
  if (!ranks.ok()) return ranks;
  if (ranks->world / ranks->per_node != nodes) {
    return WrongVariable(TaskVariable::kWorldSize,
                         std::to_string(ranks->world) + " ranks, " + std::to_string(ranks->per_node) +
                             " a node, on the " + std::to_string(nodes) + " nodes of GLIM_HOSTS",
                         "start as many ranks on every node");
  }
  if (ranks->rank / ranks->per_node != *node) {
    return WrongVariable(TaskVariable::kRank,
                         "rank " + std::to_string(ranks->rank) + " is on node " + std::to_string(*node),
                         "number the ranks in the order of GLIM_HOSTS");
  }
  return ranks;
}

// A list as the variable has it, or the file with a line for each element, where the list is too long for a variable.
Result<std::vector<std::string>> ListOf(const VariableReader& variables, TaskVariable list, TaskVariable file) {
  if (variables.Has(list) || !variables.Has(file)) return SplitVariable(variables.OrEmpty(list));
  Result<std::string> lines = ReadFile(variables.OrEmpty(file), kListFileBytesMax);
  if (!lines.ok()) return WrongVariable(file, lines.status().message(), "leave it as Glim sets it");
  if (lines->ends_with('\n')) lines->pop_back();
  std::replace(lines->begin(), lines->end(), '\n', ',');
  return SplitVariable(*lines);
}

Result<Topology> TopologyOf(const VariableReader& variables, std::uint32_t nodes, std::uint32_t per_node) {
  const auto listed_zones = ListOf(variables, TaskVariable::kZones, TaskVariable::kZonesFile);
  if (!listed_zones.ok()) return listed_zones.status();
  const std::vector<std::string>& names = *listed_zones;
  if (names.size() != nodes) {
    return WrongVariable(
        TaskVariable::kZones,
        std::to_string(names.size()) + " zones for the " + std::to_string(nodes) + " nodes of GLIM_HOSTS",
        "leave it as Glim sets it");
  }
  Topology topology;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::uint32_t zone = topology.nodes.empty() ? 0 : topology.nodes.back().zone;
    if (node > 0 && names[node] != names[node - 1]) ++zone;
    if (zone > 1) {
      return WrongVariable(TaskVariable::kZones, "the nodes are not those of one zone followed by those of another",
                           "run the job in at most two zones");
    }
    topology.nodes.push_back({zone, per_node});
  }
  if (topology.nodes.back().zone == 0) {
    topology.gateways = {0};
    return topology;
  }
  const Result<std::string> listed = variables.Text(TaskVariable::kGateways);
  if (!listed.ok()) return listed.status();
  for (const std::string& gateway : SplitVariable(*listed)) {
    const Result<std::uint32_t> node = VariableReader::ParseNumber(TaskVariable::kGateways, gateway, 0, nodes - 1);
    if (!node.ok()) return node.status();
    topology.gateways.push_back(*node);
  }
  if (Status status = topology.Check(); !status.ok()) {
    return WrongVariable(TaskVariable::kGateways, "'" + *listed + "': " + status.message(), "leave it as Glim sets it");
  }
  return topology;
}

Status AddDevice(const VariableReader& variables, CommunicatorOptions& options) {
  if (options.device.empty() && variables.Has(TaskVariable::kHfreduceDevice)) {
    const Result<std::string> device = variables.Text(TaskVariable::kHfreduceDevice);
    if (!device.ok()) return device.status();
    options.device = *device;
  }
  if (options.service_level < 0 && variables.Has(TaskVariable::kHfreduceServiceLevel)) {
    const Result<std::uint32_t> level = variables.Number(TaskVariable::kHfreduceServiceLevel, 0, kServiceLevelMax);
    if (!level.ok()) return level.status();
    options.service_level = static_cast<int>(*level);
  }
  return Status::Ok();
}

Result<Environment> OnGlim(const VariableReader& variables, const CommunicatorOptions& options) {
  Environment environment{.options = options};
  const Result<std::vector<std::string>> listed = ListOf(variables, TaskVariable::kHosts, TaskVariable::kHostsFile);
  if (!listed.ok()) return listed.status();
  const std::vector<std::string>& hosts = *listed;
  if (hosts.front().empty()) {
    return WrongVariable(TaskVariable::kHosts, "it names no host", "leave it as Glim sets it");
  }
  const auto nodes = static_cast<std::uint32_t>(hosts.size());
  const Result<Ranks> ranks = RanksOnGlim(variables, nodes);
  if (!ranks.ok()) return ranks.status();
  Result<Topology> topology = TopologyOf(variables, nodes, ranks->per_node);
  if (!topology.ok()) return topology.status();
  const Result<std::uint32_t> port = variables.Number(TaskVariable::kHfreducePort, 1, kPortMax);
  if (!port.ok()) return port.status();
  const Result<std::string> job = variables.Text(TaskVariable::kJobId);
  if (!job.ok()) return job.status();
  const Result<std::string> attempt = variables.Text(TaskVariable::kAttempt);
  if (!attempt.ok()) return attempt.status();
  if (Status status = AddDevice(variables, environment.options); !status.ok()) return status;
  environment.topology = std::move(*topology);
  environment.rank = ranks->rank;
  environment.store_host = hosts[0];
  environment.store_port = static_cast<std::uint16_t>(*port);
  environment.attempt = *job + "." + *attempt;
  environment.options.id = environment.attempt + "-" + options.id;
  environment.options.listen = hosts[ranks->rank / ranks->per_node];
  return environment;
}

Result<Environment> WithoutGlim(const VariableReader& variables, const CommunicatorOptions& options) {
  Environment environment{.options = options};
  const Result<Ranks> ranks = RanksOf(variables);
  if (!ranks.ok()) return ranks.status();
  Result<std::string> host = variables.Text(TaskVariable::kMasterAddr);
  if (!host.ok()) return host.status();
  const bool chosen = variables.Has(TaskVariable::kHfreducePort);
  // Torch listens on the port itself.
  const Result<std::uint32_t> port = chosen ? variables.Number(TaskVariable::kHfreducePort, 1, kPortMax)
                                            : variables.Number(TaskVariable::kMasterPort, 1, kPortMax - 1);
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

Result<Environment> EnvironmentOf(const VariableLookup& lookup, const CommunicatorOptions& options) {
  const VariableReader variables(lookup);
  const bool on_glim = variables.Has(TaskVariable::kHosts) || variables.Has(TaskVariable::kHostsFile);
  Result<Environment> environment = on_glim ? OnGlim(variables, options) : WithoutGlim(variables, options);
  if (environment.ok()) environment->secret_file = variables.OrEmpty(TaskVariable::kAttemptSecretFile);
  return environment;
}

}  // namespace glim::hfreduce
