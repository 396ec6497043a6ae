// Ed25519 (RFC 8032): a seed of 32 random bytes is the private key. Any thread; nothing is kept.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace glim {

using Ed25519Seed = std::array<std::byte, 32>;
using Ed25519Key = std::array<std::byte, 32>;  // the public one
using Ed25519Signature = std::array<std::byte, 64>;

Ed25519Seed MakeEd25519Seed();
Ed25519Key PublicKeyOf(const Ed25519Seed& seed);
Ed25519Signature Sign(const Ed25519Seed& seed, std::string_view text);
// False for what is no key, too.
bool IsSignedBy(const Ed25519Key& key, std::string_view text, const Ed25519Signature& signature);

}  // namespace glim
