// PKCS #10: what the owner of a key sends to whoever signs. Only the key counts: who the certificate is for, the signer
// knows from elsewhere, and names in the request are not looked at. Stateless, any thread.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/pki/private_key.h"

namespace glim::pki {

inline constexpr std::size_t kRequestBytesMax = 4096;

// DER. `name` becomes the common name, for people alone; at most 64 characters of it.
std::string MakeRequest(const PrivateKey& key, const std::string& name);

// The key of a request that came from anybody. INVALID_ARGUMENT (BAD_CSR, field "csr"): longer than kRequestBytesMax,
// no PKCS #10, bytes behind it, not a P-256 key, or not signed by that key.
Result<PublicKey> ReadRequest(std::string_view der);

}  // namespace glim::pki
