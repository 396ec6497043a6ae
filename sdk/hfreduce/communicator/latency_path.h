// Which way a request takes between nodes. Every rank must come to the same answer: it depends on the request alone.
#pragma once

#include <cstddef>

#include "sdk/hfreduce/communicator/request.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

inline bool TakesLatencyPath(const Request& request, std::size_t bytes_max) {
  const OperationKind kind = request.signature.kind;
  return kind == OperationKind::kBarrier || (kind == OperationKind::kAllReduce && request.bytes() <= bytes_max);
}

inline Chunking ChunkingOfRequest(const Request& request, std::size_t latency_path_bytes_max) {
  if (TakesLatencyPath(request, latency_path_bytes_max)) return OneChunk(request.signature.count);
  return ChunkingOf(request.moves, request.signature.count);
}

}  // namespace glim::hfreduce
