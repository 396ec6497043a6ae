// Whose address a call comes from. The HTTP gateway calls inside this process, for others: it says for whom in the
// call's metadata, and shows a key that nobody else has. Of anybody else that metadata counts for nothing.
//
// Pure but for the context.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <string_view>

namespace glim::server {

inline constexpr char kForwardedPeer[] = "glim-forwarded-peer";  // metadata: "KEY PEER"

// What the gateway writes there; `peer` is a PeerHost.
std::string ForwardedPeer(std::string_view key, std::string_view peer);

// As the limits and the audit trail name a call's peer. `key` empty: nobody calls for others.
std::string PeerOf(const grpc::ServerContextBase& context, std::string_view key);

}  // namespace glim::server
