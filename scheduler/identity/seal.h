// What is secret in the store: sealed by the cluster's key with AES-256-GCM, for one row alone. Stateless, any thread.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/identity/key_file.h"
#include "sdk/base/result.h"
#include "sdk/pki/random_source.h"

namespace glim::identity {

inline constexpr std::size_t kSealedPlainBytesMax = 1 << 20;

// `kind` and `name` are the row's (core::RowKey): sealed bytes that were moved to another row do not open there.
// Printable ASCII: "v1:KEY:BASE64" with the key's Id. At most kSealedPlainBytesMax (CHECK).
std::string Seal(const ClusterKey& key, std::string_view kind, std::string_view name, std::string_view plain,
                 const pki::RandomSource& random);

// FAILED_PRECONDITION (OTHER_KEY_FILE): sealed by another key; says the ids of both. DATA_LOSS (TORN_ROW): it is not
// what Seal made for this row. No message quotes a secret.
Result<std::string> Unseal(const ClusterKey& key, std::string_view kind, std::string_view name,
                           std::string_view sealed);

}  // namespace glim::identity
