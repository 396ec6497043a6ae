// Which way a request takes between nodes. Every rank must come to the same answer: it depends on the request alone.
#pragma once

#include <cstddef>

#include "sdk/hfreduce/communicator/request.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

inline bool TakesLatencyPath(const Request& request, std::size_t bytes_max) {
  const Collective kind = request.signature.kind;
  return kind == Collective::kBarrier || (kind == Collective::kAllReduce && request.signature.bytes() <= bytes_max);
}

inline Chunking ChunkingOfRequest(const Request& request, std::size_t latency_path_bytes_max) {
  if (TakesLatencyPath(request, latency_path_bytes_max)) return OneChunk(request.signature.count);
  return ChunkingOf(request.signature.element(), request.signature.count);
}

}  // namespace glim::hfreduce
