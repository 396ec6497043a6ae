#include "sdk/hfreduce/transport/connect_transport.h"

#include <algorithm>
#include <set>

#include "sdk/hfreduce/transport/edges.h"
#include "sdk/hfreduce/transport/hello.h"
#include "sdk/hfreduce/transport/tcp_transport.h"
#include "sdk/hfreduce/transport/ucx_transport.h"

namespace glim::hfreduce {
namespace {

Status Check(const TransportOptions& options, NodeIndex self, std::span<const NodeIndex> peers) {
  if (options.id.empty() || options.id.size() > kIdBytesMax) {
    return InvalidArgument("id", "a communicator's id has 1 to " + std::to_string(kIdBytesMax) + " bytes");
  }
  if (options.service_level < -1 || options.service_level > 15) {
    return InvalidArgument("service_level", "an InfiniBand service level is 0 to 15, or -1 for the device's default");
  }
  if (options.peer_timeout < Seconds(1) || options.peer_timeout > Hours(1)) {
    return InvalidArgument("peer_timeout", "a peer's timeout is one second to one hour");
  }
  if (options.socket_buffer_bytes < 0) return InvalidArgument("socket_buffer_bytes", "a buffer cannot be negative");
  const std::set<NodeIndex> distinct(peers.begin(), peers.end());
  if (distinct.size() != peers.size() || distinct.count(self) != 0) {
    return InvalidArgument("peers", "node " + std::to_string(self) + " or a double is among its own peers");
  }
  if (options.kind == TransportKind::kUcx && !UcxIsBuilt()) {
    return Status(StatusCode::kUnimplemented, "this build of hfreduce is without UCX")
        .WithFix("use the tcp transport, or build with libucx-dev installed");
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Transport>> ConnectTransport(const TransportOptions& options, NodeIndex self,
                                                    std::span<const NodeIndex> peers, Store& store, Duration timeout) {
  if (Status checked = Check(options, self, peers); !checked.ok()) return checked;
  const net::Deadline deadline(timeout);
  Result<std::vector<Edge>> edges = ConnectEdges(options, self, peers, store, deadline);
  if (!edges.ok()) return edges.status();
  if (options.kind != TransportKind::kUcx) return MakeTcpTransport(std::move(edges).value());
  return MakeUcxTransport(options, self, std::move(edges).value(), store, deadline);
}

}  // namespace glim::hfreduce
