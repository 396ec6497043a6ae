// Where the memory of a range shall lie on machines with several NUMA nodes. By the kernel's calls: libnuma would only
// wrap them. Advice: an error (no NUMA, no permission) changes nothing and is not reported.
#pragma once

#include <cstddef>

namespace glim::hfreduce {

// NUMA nodes that this process may allocate from; at least 1.
int NumaNodes();
// Page by page over all of them: for data that arrives from every socket's GPUs. `start` is page aligned.
void InterleaveOverNumaNodes(void* start, std::size_t bytes);
// On the network card's node: for results and what the network sends and receives. Negative: unknown, left alone.
void PreferNumaNode(void* start, std::size_t bytes, int node);

}  // namespace glim::hfreduce
