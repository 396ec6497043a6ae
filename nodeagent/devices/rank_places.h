// Which CPUs and which memory each rank of a task is to use: those beside its GPU.
//
// A copy between a GPU and memory of the other socket crosses the link between the sockets, and where ranks run
// anywhere their memory is spread over all sockets: Fire-Flyer binds by NUMA node for that reason ("Fire-Flyer AI-HPC:
// A Cost-Effective Software-Hardware Co-Design for Deep Learning", section IV, on HFReduce's copies and reductions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glim::nodeagent {

struct NumaNode {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> cpus;  // ascending
};

struct NodeTopology {
  std::vector<NumaNode> nodes;
  std::vector<std::int64_t> gpus;  // the NUMA node of each, by PCI address, as CUDA counts with PCI_BUS_ID; -1: unknown
};

// Empty lists: anywhere.
struct RankPlace {
  std::vector<std::uint32_t> cpus;
  std::vector<std::uint32_t> memory;  // preferred, not the only one: a node that is full must not end the rank
};

// What the kernel says below `root`. Asks no driver. Bounded.
NodeTopology ReadTopology(const std::string& root);
// "0-3,8": the numbers, ascending, below 1024 each; empty where the text is none.
std::vector<std::uint32_t> ParseCpuList(const std::string& text);

// The CPUs that the calling thread may use, and with it all that it starts.
std::vector<std::uint32_t> AllowedCpus();

struct PlaceWishes {
  std::uint32_t ranks = 0;             // with one GPU each, rank i the i-th of the node
  std::int64_t cpu_millis = 0;         // the job's limit; 0: none
  std::vector<std::uint32_t> allowed;  // CPUs that the agent itself may use; empty: all
};

// Pure. Nothing is bound where there is one NUMA node, or where the bound ranks together would have fewer CPUs than the
// job asks for: it must be able to use them. A rank whose GPU's NUMA node is unknown is not bound.
std::vector<RankPlace> PlaceRanks(const NodeTopology& topology, const PlaceWishes& wishes);

}  // namespace glim::nodeagent
