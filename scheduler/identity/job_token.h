// What an attempt is given: the token of a job with `api: true`, the secret by which its tasks know each other, and the
// receipts of its launches. Never kept anywhere, for tokens and secrets can be made again from the cluster's signing
// key, which lies sealed in the store, and receipts from the key file, which outlives the store. Of a token the row has
// its hash. Stateless, any thread.
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
// Likewise. 64 hexadecimal digits, which tell nothing of the token nor of another attempt's.
std::string AttemptSecretOf(std::string_view signing_key, core::AttemptId attempt);
// That this cluster's scheduler has launched the task on that node: 64 hexadecimal digits. Nobody without the key file
// makes one, and one of another node, task or cluster is another.
std::string LaunchReceiptOf(const ClusterKey& key, std::string_view cluster, std::string_view node, core::TaskId task);
// Compares in constant time.
bool IsLaunchReceipt(const ClusterKey& key, std::string_view cluster, std::string_view node, core::TaskId task,
                     std::string_view receipt);

}  // namespace glim::identity
