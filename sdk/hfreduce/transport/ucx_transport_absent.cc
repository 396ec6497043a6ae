// In the place of ucx_transport.cc where CMake has not found UCX.
#include "sdk/hfreduce/transport/ucx_transport.h"

namespace glim::hfreduce {

bool UcxIsBuilt() { return false; }

Result<std::unique_ptr<Transport>> MakeUcxTransport(const TransportOptions&, NodeIndex, std::vector<Edge>, Store&,
                                                    const net::Deadline&) {
  return Status(StatusCode::kUnimplemented, "this build of hfreduce is without UCX");
}

}  // namespace glim::hfreduce
