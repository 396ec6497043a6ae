#include "sdk/pki/private_key.h"

#include <openssl/pem.h>

#include <array>

#include "sdk/base/check.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

// SubjectPublicKeyInfo of every uncompressed point on P-256: what stands before the point's 64 bytes.
constexpr std::array<unsigned char, 27> kPublicKeyStart = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                                           0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                                           0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};

Status BadKey(const std::string& what) {
  return Status(StatusCode::kInvalidArgument, what)
      .WithReason("BAD_KEY")
      .WithField("key")
      .WithFix("use a key on the curve P-256 (prime256v1)");
}

// OpenSSL would ask the terminal.
int NoPassphrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

}  // namespace

Result<PublicKey> PublicKey::Of(const evp_pkey_st* key) {
  unsigned char* bytes = nullptr;
  const int size = key != nullptr ? i2d_PUBKEY(key, &bytes) : 0;
  std::string der;
  if (size > 0) der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  const std::string_view start(reinterpret_cast<const char*>(kPublicKeyStart.data()), kPublicKeyStart.size());
  if (der.size() == kPublicKeyStart.size() + 64 && der.starts_with(start)) return PublicKey(std::move(der));
  (void)OpensslError();
  return BadKey("the key is not on the curve P-256");
}

PrivateKey PrivateKey::Make() {
  std::shared_ptr<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free);
  GLIM_CHECK(key != nullptr, "a key on P-256 can always be made");
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::FromPem(std::string_view pem) {
  if (pem.size() > kKeyTextBytesMax) return BadKey("the key's text is too long");
  const BioPtr bio = ReadingBio(pem);
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr), EVP_PKEY_free);
  if (key == nullptr) return BadKey("this is no private key in PEM without a passphrase: " + OpensslError());
  if (const Result<PublicKey> half = PublicKey::Of(key.get()); !half.ok()) return half.status();
  const KeyContextPtr context(EVP_PKEY_CTX_new(key.get(), nullptr));
  if (context == nullptr || EVP_PKEY_pairwise_check(context.get()) != 1) {
    return BadKey("the key's two halves do not belong together: " + OpensslError());
  }
  return PrivateKey(std::move(key));
}

std::string PrivateKey::Pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  GLIM_CHECK(
      bio != nullptr && PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "a key can be written to memory");
  return TextOf(bio.get());
}

PublicKey PublicHalf(const PrivateKey& key) {
  Result<PublicKey> half = PublicKey::Of(key.raw());
  GLIM_CHECK(half.ok(), "a PrivateKey is on P-256");
  return std::move(half).value();
}

}  // namespace glim::pki
