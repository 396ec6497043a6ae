// The key that replica tokens are signed with (sdk/tokens/replica_token.h): derived from the cluster's signing key and
// the authority that signs nodes, so that it lies nowhere by itself, and is another one when the authority is changed.
// Stateless, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/identity/cluster_authority.h"
#include "sdk/tokens/ed25519.h"

namespace glim::identity {

// `signing_key`: OpenSigningRow's.
Ed25519Seed ReplicaSeedOf(std::string_view signing_key, const pki::Certificate& authority);

// Whose tokens count: of each authority that counts, last the one that signs now.
std::vector<Ed25519Key> ReplicaKeysOf(std::string_view signing_key, const ClusterAuthority& authority);

}  // namespace glim::identity
