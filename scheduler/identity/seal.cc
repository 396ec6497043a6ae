#include "scheduler/identity/seal.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "sdk/base/check.h"

namespace glim::identity {
namespace {

constexpr std::string_view kVersion = "v1:";
constexpr std::size_t kKeyDigits = 8;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherFree>;

const unsigned char* Raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

std::string Base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Raw(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Empty: it is not what Base64 makes.
std::string FromBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Raw(text), static_cast<int>(text.size())) < 0) {
    return {};
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.erase(bytes.end() - static_cast<std::ptrdiff_t>(padding), bytes.end());
  return Base64(bytes) == text ? bytes : std::string();  // the decoder overlooks white space
}

// Which row it is for. A kind has no zero byte, so no two rows have the same.
std::string RowOf(std::string_view kind, std::string_view name) {
  GLIM_CHECK(kind.find('\0') == std::string_view::npos, "a row's kind is a word");
  return std::string(kVersion) + std::string(kind) + '\0' + std::string(name);
}

Status TornRow(std::string_view kind, std::string_view name) {
  return Status(StatusCode::kDataLoss,
                "the store's row " + std::string(kind) + "/" + std::string(name) + " is not what was sealed there")
      .WithReason("TORN_ROW")
      .WithFix("restore the store from a backup; a secret of a user can be set anew");
}

}  // namespace

std::string Seal(const ClusterKey& key, std::string_view kind, std::string_view name, std::string_view plain,
                 const pki::RandomSource& random) {
  GLIM_CHECK(plain.size() <= kSealedPlainBytesMax, "what is sealed is bounded");
  std::string sealed(kNonceBytes + plain.size() + kTagBytes, '\0');
  random(std::as_writable_bytes(std::span(sealed.data(), kNonceBytes)));
  const std::string row = RowOf(kind, name);
  auto* const out = reinterpret_cast<unsigned char*>(sealed.data());
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool done =
      cipher != nullptr &&
      EVP_EncryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), reinterpret_cast<const unsigned char*>(key.bytes().data()),
                          out, nullptr) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, Raw(row), static_cast<int>(row.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out + kNonceBytes, &size, Raw(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + kNonceBytes + plain.size(), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, out + kNonceBytes + plain.size()) == 1;
  GLIM_CHECK(done, "AES-256-GCM is always there");
  return std::string(kVersion) + key.Id() + ":" + Base64(sealed);
}

Result<std::string> Unseal(const ClusterKey& key, std::string_view kind, std::string_view name,
                           std::string_view sealed) {
  constexpr std::size_t kStart = kVersion.size() + kKeyDigits + 1;
  constexpr std::size_t kSealedMax = kStart + 4 * ((kNonceBytes + kSealedPlainBytesMax + kTagBytes + 2) / 3);
  if (sealed.size() <= kStart || sealed.size() > kSealedMax || !sealed.starts_with(kVersion) ||
      sealed[kStart - 1] != ':') {
    return TornRow(kind, name);
  }
  const std::string_view id = sealed.substr(kVersion.size(), kKeyDigits);
  if (id.find_first_not_of("0123456789abcdef") != std::string_view::npos) return TornRow(kind, name);
  if (id != key.Id()) {
    return Status(StatusCode::kFailedPrecondition,
                  "the store is sealed with the key file " + std::string(id) + ", and this one is " + key.Id())
        .WithReason("OTHER_KEY_FILE")
        .WithFix("give this scheduler the key file that the cluster was made with");
  }
  const std::string bytes = FromBase64(sealed.substr(kStart));
  if (bytes.size() < kNonceBytes + kTagBytes) return TornRow(kind, name);
  const std::string row = RowOf(kind, name);
  const std::string_view body = std::string_view(bytes).substr(kNonceBytes, bytes.size() - kNonceBytes - kTagBytes);
  std::string tag = bytes.substr(bytes.size() - kTagBytes);
  std::string plain(body.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  unsigned char rest = 0;
  auto* const out = plain.empty() ? &rest : reinterpret_cast<unsigned char*>(plain.data());
  const bool good =
      cipher != nullptr &&
      EVP_DecryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), reinterpret_cast<const unsigned char*>(key.bytes().data()),
                          Raw(bytes), nullptr) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, Raw(row), static_cast<int>(row.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), out, &size, Raw(body), static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), &rest, &size) == 1;
  if (!good) return TornRow(kind, name);
  return plain;
}

}  // namespace glim::identity
