#include "scheduler/identity/replica_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string>

#include "sdk/base/check.h"

namespace glim::identity {

Ed25519Seed ReplicaSeedOf(std::string_view signing_key, const pki::Certificate& authority) {
  const std::string of = "replica-key\n" + authority.fingerprint();
  Ed25519Seed seed{};
  unsigned bytes = 0;
  const unsigned char* made = ::HMAC(EVP_sha256(), signing_key.data(), static_cast<int>(signing_key.size()),
                                     reinterpret_cast<const unsigned char*>(of.data()), of.size(),
                                     reinterpret_cast<unsigned char*>(seed.data()), &bytes);
  GLIM_CHECK(made != nullptr && bytes == seed.size(), "HMAC-SHA-256 is always there");
  return seed;
}

std::vector<Ed25519Key> ReplicaKeysOf(std::string_view signing_key, const ClusterAuthority& authority) {
  std::vector<Ed25519Key> keys;
  for (const pki::Certificate& counts : authority.Trust()) {
    keys.push_back(PublicKeyOf(ReplicaSeedOf(signing_key, counts)));
  }
  return keys;
}

}  // namespace glim::identity
