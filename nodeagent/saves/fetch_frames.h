// FetchChunk messages as gRPC's buffers, so that a save's bytes are not copied into messages and out of them again.
// On the wire they are plain FetchChunks. Stateless functions, safe from any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;  // of the sender's data messages
inline constexpr int kFrameBytesMax = 4 << 20;                      // of any message that a reader takes
inline constexpr std::size_t kControlBytesMax = 16 * 1024;          // of a message without data

// FetchChunk{data}, which refers to `data`.
grpc::ByteBuffer DataFrame(grpc::Slice data);
// Any other.
grpc::ByteBuffer ControlFrame(const v1::FetchChunk& chunk);

struct Frame {
  v1::FetchChunk chunk;           // without data
  std::vector<grpc::Slice> data;  // of a data message, in order
  std::size_t data_bytes = 0;
  bool is_data = false;
};

// INVALID_ARGUMENT for what is no FetchChunk.
Result<Frame> ParseFrame(const grpc::ByteBuffer& buffer);

}  // namespace glim::nodeagent
