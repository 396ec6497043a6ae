#include "sdk/tokens/ed25519.h"

#include <openssl/evp.h>

#include <memory>

#include "sdk/base/check.h"
#include "sdk/io/random_bytes.h"

namespace glim {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)>;

const unsigned char* Bytes(const std::byte* data) { return reinterpret_cast<const unsigned char*>(data); }
const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Key KeyOf(const Ed25519Seed& seed) {
  Key key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(seed.data()), seed.size()), &::EVP_PKEY_free);
  GLIM_CHECK(key != nullptr, "any 32 bytes are a private key");
  return key;
}

Context MakeContext() { return {::EVP_MD_CTX_new(), &::EVP_MD_CTX_free}; }

}  // namespace

Ed25519Seed MakeEd25519Seed() {
  Ed25519Seed seed;
  FillRandomly(seed);
  return seed;
}

Ed25519Key PublicKeyOf(const Ed25519Seed& seed) {
  Ed25519Key made{};
  std::size_t bytes = made.size();
  const int done =
      ::EVP_PKEY_get_raw_public_key(KeyOf(seed).get(), reinterpret_cast<unsigned char*>(made.data()), &bytes);
  GLIM_CHECK(done == 1 && bytes == made.size(), "a private key has a public one");
  return made;
}

Ed25519Signature Sign(const Ed25519Seed& seed, std::string_view text) {
  const Key key = KeyOf(seed);
  const Context context = MakeContext();
  Ed25519Signature made{};
  std::size_t bytes = made.size();
  const bool done = ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                    ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &bytes, Bytes(text),
                                     text.size()) == 1;
  GLIM_CHECK(done && bytes == made.size(), "Ed25519 is always there");
  return made;
}

bool IsSignedBy(const Ed25519Key& key, std::string_view text, const Ed25519Signature& signature) {
  const Key opened(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(key.data()), key.size()),
                   &::EVP_PKEY_free);
  if (opened == nullptr) return false;
  const Context context = MakeContext();
  return ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, opened.get()) == 1 &&
         ::EVP_DigestVerify(context.get(), Bytes(signature.data()), signature.size(), Bytes(text), text.size()) == 1;
}

}  // namespace glim
