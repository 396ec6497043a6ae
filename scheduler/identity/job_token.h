// The token of a job's attempt (spec `api: true`): never kept anywhere, for it can be made again from the cluster's
// signing key, which lies sealed in the store. The row has its hash. Stateless, any thread.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/core/model/identity.h"
#include "scheduler/identity/key_file.h"
#include "sdk/base/result.h"
#include "sdk/pki/random_source.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::identity {

inline constexpr char kSigningRow[] = "signing";

// A new signing key, sealed.
core::SealedRow MakeSigningRow(const ClusterKey& key, const pki::RandomSource& random);
// Errors are those of Unseal; DATA_LOSS (TORN_ROW): it is no key.
Result<std::string> OpenSigningRow(const ClusterKey& key, const core::SealedRow& row);

// Always the same of the same attempt: HMAC-SHA-256 under the signing key.
OpaqueToken JobTokenOf(std::string_view signing_key, core::AttemptId attempt);

}  // namespace glim::identity
