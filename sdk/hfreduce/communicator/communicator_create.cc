// Communicator::Create: the ranks find each other, map their node's segment, connect their nodes.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "sdk/hfreduce/communicator/collectives.h"
#include "sdk/hfreduce/communicator/follower_part.h"
#include "sdk/hfreduce/communicator/leader_part.h"
#include "sdk/hfreduce/communicator/node_part.h"
#include "sdk/hfreduce/communicator/wrong.h"
#include "sdk/hfreduce/transport/agree.h"
#include "sdk/io/random_bytes.h"

namespace glim::hfreduce {
namespace {

Status CheckOptions(const Topology& topology, std::uint32_t rank, const CommunicatorOptions& options) {
  if (Status status = topology.Check(); !status.ok()) return status;
  if (rank >= topology.ranks()) {
    return Wrong("rank", "is " + std::to_string(rank) + " of " + std::to_string(topology.ranks()), "count from 0");
  }
  if (options.id.empty() || options.id.size() > 64) return Wrong("id", "has no or over 64 bytes", "give a short one");
  const std::string& transport = options.transport;
  if (transport != "auto" && transport != "tcp" && transport != "ucx" && transport != "verbs") {
    return Wrong("transport", "'" + transport + "' is unknown", "use auto, tcp, ucx or verbs");
  }
  if (options.timeout.ms <= 0) return Wrong("timeout", "is not positive", "give some seconds");
  if (options.latency_path_bytes_max > kChunkBytesMax) {
    return Wrong("latency_path_bytes_max", "is over 1 MiB", "use at most 1048576");
  }
  return Status::Ok();
}

// What must be the same on all ranks, in words. The transport comes first, and is compared by itself.
std::string TransportTerm(const std::string& terms) { return terms.substr(0, terms.find(',')); }

std::string Terms(const Topology& topology, const CommunicatorOptions& options) {
  std::string text = "transport " + options.transport + ", latency path up to " +
                     std::to_string(options.latency_path_bytes_max) + " bytes, gateways";
  for (const std::uint32_t gateway : topology.gateways) text += " " + std::to_string(gateway);
  text += ", nodes (zone:ranks)";
  for (const NodePlace& node : topology.nodes) {
    text += " " + std::to_string(node.zone) + ":" + std::to_string(node.local_ranks);
  }
  return text;
}

struct Run {
  std::uint64_t session = 0;
  std::string id;  // unlike that of any other run
};

Result<Run> Meet(const Topology& topology, std::uint32_t rank, Store& store, const CommunicatorOptions& options) {
  const std::string key = "communicator/" + options.id;
  const std::string terms = Terms(topology, options);
  if (rank == 0) {
    const std::uint64_t session = RandomNumber();
    if (Status status = store.Set(key, std::to_string(session) + " " + terms); !status.ok()) return status;
    return Run{session, options.id + "-" + std::to_string(session)};
  }
  const Result<std::string> said = store.Get(key, options.timeout);
  if (!said.ok()) {
    if (said.status().code() != StatusCode::kDeadlineExceeded) return said.status();
    return Status(StatusCode::kDeadlineExceeded, "rank 0 is missing: " + said.status().message());
  }
  const std::size_t space = said->find(' ');
  const std::string session = said->substr(0, space);
  const Run run{std::strtoull(session.c_str(), nullptr, 10), options.id + "-" + session};
  const std::string first = space == std::string::npos ? "" : said->substr(space + 1);
  if (first == terms) return run;
  const bool transport = TransportTerm(first) != TransportTerm(terms);
  const auto term = [&](const std::string& all) { return "'" + (transport ? TransportTerm(all) : all) + "'"; };
  const Status differs = Status(StatusCode::kInvalidArgument, "rank 0 was given " + term(first) + " and rank " +
                                                                  std::to_string(rank) + " " + term(terms))
                             .WithField(transport ? "transport" : "topology")
                             .WithFix("give every rank the same");
  RefuseToAgree(run.id, topology.NodeOf(rank), store, differs);
  return differs;
}

Result<std::unique_ptr<Transport>> Connect(const Topology& topology, std::uint32_t node, const Run& run, Store& store,
                                           const CommunicatorOptions& options) {
  const AgreeOptions how{.wanted = options.transport,
                         .transport = {.id = run.id,
                                       .listen_address = options.listen,
                                       .congestion = options.congestion,
                                       .ucx_net_devices = options.device,
                                       .service_level = options.service_level,
                                       .secret = options.secret},
                         .rdma_folder = options.rdma_folder};
  const Routes routes(topology, node);
  const auto nodes = static_cast<NodeIndex>(topology.nodes.size());
  Result<Agreed> agreed = ConnectAgreed(how, node, nodes, routes.neighbours(), store, options.timeout);
  if (!agreed.ok()) return agreed.status();
  if (node == 0 && !agreed->line.empty()) {
    if (options.log) {
      options.log(agreed->line);
    } else {
      std::fprintf(stderr, "hfreduce: %s\n", agreed->line.c_str());
    }
  }
  return std::move(agreed->transport);
}

struct Place {
  std::uint32_t node = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t local_ranks = 1;
};

Result<std::unique_ptr<Segment>> OpenSegment(const Topology& topology, const Place& place, const Run& run,
                                             const CommunicatorOptions& options) {
  SegmentOptions segment{.folder = options.segment_folder,
                         .name = SegmentName(options.id, place.node),
                         .session = run.session,
                         .ranks = place.local_ranks,
                         .local_rank = place.local_rank,
                         .first_rank = topology.FirstRankOf(place.node),
                         .numa_node = options.numa_node,
                         .timeout = options.timeout};
  if (topology.nodes.size() > 1) {
    segment.stage_bytes = kLeaderStageBytes;
    segment.result_bytes = kLeaderResultBytes;
  }
  return Segment::Open(segment);
}

// Null: buffers are the host's.
Result<std::shared_ptr<const device::Runtime>> RuntimeOf(const CommunicatorOptions& options) {
  const std::shared_ptr<const device::Runtime> none;
  if (options.cuda_runtime == "none") return none;
  const bool may_lack = options.cuda_runtime == "auto";
  auto runtime = may_lack ? device::Runtime::Loaded() : device::Runtime::Open(options.cuda_runtime);
  if (!runtime.ok() && may_lack) return none;
  return runtime;
}

template <typename T>
Result<std::unique_ptr<Part>> AsPart(Result<std::unique_ptr<T>> part) {
  if (!part.ok()) return part.status();
  return std::unique_ptr<Part>(std::move(part.value()));
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::Create(const Topology& topology, std::uint32_t rank, Store& store,
                                                           const CommunicatorOptions& options) {
  if (Status status = CheckOptions(topology, rank, options); !status.ok()) return status;
  const Result<Run> run = Meet(topology, rank, store, options);
  if (!run.ok()) return run.status();
  Place place{.node = topology.NodeOf(rank)};
  place.local_rank = rank - topology.FirstRankOf(place.node);
  place.local_ranks = topology.nodes[place.node].local_ranks;
  const bool one_node = topology.nodes.size() == 1;

  auto runtime = RuntimeOf(options);
  if (!runtime.ok()) return runtime.status();
  std::unique_ptr<Segment> segment;
  std::unique_ptr<DeviceStage> device;
  if (one_node || place.local_ranks > 1 || *runtime) {
    auto opened = OpenSegment(topology, place, *run, options);
    if (!opened.ok()) return opened.status();
    segment = std::move(opened.value());
    if (*runtime) device = std::make_unique<DeviceStage>(std::move(runtime.value()), *segment, options.gdrcopy);
  }
  const LeaderPart* leader = nullptr;
  Result<std::unique_ptr<Part>> part = Status(StatusCode::kInternal, "no part");
  if (one_node) {
    part = AsPart(NodePart::Create(*segment, device.get(), topology, options.timeout));
  } else if (place.local_rank > 0) {
    part = AsPart(FollowerPart::Create(*segment, device.get(), topology, place.node, options.latency_path_bytes_max,
                                       options.timeout));
  } else {
    auto connected = Connect(topology, place.node, *run, store, options);
    if (!connected.ok()) {
      if (segment) segment->Fail(connected.status());
      return connected.status();
    }
    auto made = LeaderPart::Create(segment.get(), device.get(), topology, place.node, std::move(connected.value()),
                                   options.latency_path_bytes_max, options.timeout);
    if (made.ok()) leader = made->get();
    part = AsPart(std::move(made));
  }
  if (!part.ok()) return part.status();
  auto driver = Driver::Create(std::move(part.value()));
  if (!driver.ok()) return driver.status();
  return std::unique_ptr<Communicator>(std::make_unique<Collectives>(
      topology, rank, std::move(segment), std::move(device), leader, std::move(driver.value())));
}

}  // namespace glim::hfreduce
