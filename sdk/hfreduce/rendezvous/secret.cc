#include "sdk/hfreduce/rendezvous/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "sdk/base/check.h"
#include "sdk/io/private_file.h"

namespace glim::hfreduce {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kFileBytesMax = 1024;

Mac Hmac(const void* key, std::size_t key_bytes, std::string_view text) {
  Mac mac{};
  unsigned bytes = 0;
  const unsigned char* made =
      ::HMAC(EVP_sha256(), key, static_cast<int>(key_bytes), reinterpret_cast<const unsigned char*>(text.data()),
             text.size(), reinterpret_cast<unsigned char*>(mac.data()), &bytes);
  GLIM_CHECK(made != nullptr && bytes == mac.size(), "HMAC-SHA-256 is always there");
  return mac;
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

void Clear(const Mac* key) {
  OPENSSL_cleanse(const_cast<Mac*>(key)->data(), key->size());
  delete key;
}

}  // namespace

Result<Secret> Secret::Parse(std::string_view text, std::string_view attempt) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != kDigits || !std::all_of(text.begin(), text.end(), IsHexDigit)) {
    return InvalidArgument("secret", "a secret is 64 hexadecimal digits, in lower case", "openssl rand -hex 32");
  }
  // The digits are used for nothing else, so that a job may have uses of its own for them.
  Secret secret;
  secret.key_ =
      std::shared_ptr<const Mac>(new Mac(Hmac(text.data(), text.size(), "hfreduce 1\n" + std::string(attempt))), Clear);
  return secret;
}

Result<Secret> Secret::Read(const std::string& path, std::string_view attempt) {
  Result<std::string> text = ReadPrivateFile(path, kFileBytesMax);
  if (!text.ok()) return text.status();
  Result<Secret> secret = Parse(*text, attempt);
  OPENSSL_cleanse(text->data(), text->size());
  if (secret.ok()) return secret;
  return Status(secret.status().code(), path + ": " + secret.status().message()).WithFix(secret.status().fix());
}

Mac Secret::Sign(std::string_view text) const {
  GLIM_CHECK(key_ != nullptr, "there is a secret");
  return Hmac(key_->data(), key_->size(), text);
}

bool SameMac(const Mac& a, const Mac& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace glim::hfreduce
