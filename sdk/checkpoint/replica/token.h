// Who may write and read a job's replicas: whoever knows the job's token, which never crosses the network.
//
// A cluster has one secret, known to the services and the agents. A job's token is made of the secret and the job's
// number, so that a service needs no list, and a job's processes, which are given their token alone, can do nothing
// with another job's replicas. Both sides of a connection prove that they know it by HMAC-SHA-256 (RFC 2104) of both
// sides' nonces.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "sdk/base/result.h"

namespace glim::checkpoint {

inline constexpr std::size_t kSecretBytesMin = 16;
inline constexpr std::size_t kSecretBytesMax = 4096;

using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

enum class Side : char { kClient = 'c', kService = 's' };

// The file's contents without white space at the end. PERMISSION_DENIED if others than its owner may read or write it;
// INVALID_ARGUMENT if it is too short or too long; NOT_FOUND.
Result<std::string> ReadSecret(const std::string& path);
// The same from an open descriptor, which is closed.
Result<std::string> ReadSecret(int descriptor);

// 64 hexadecimal digits.
std::string JobToken(const std::string& secret, const std::string& job);

// What `side` of a connection says to show that it knows the token.
Proof Prove(const std::string& token, Side side, const std::string& job, const Nonce& client, const Nonce& service);
// In a time that tells nothing of where they differ.
bool Same(const Proof& a, const Proof& b);

Nonce MakeNonce();

}  // namespace glim::checkpoint
