#include "sdk/pki/certificate_request.h"

#include "sdk/base/check.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

Status BadCsr(const std::string& what) {
  return Status(StatusCode::kInvalidArgument, "the certificate signing request " + what)
      .WithReason("BAD_CSR")
      .WithField("csr")
      .WithFix("send PKCS #10 in DER, at most 4 KiB, signed by a key on P-256");
}

}  // namespace

std::string MakeRequest(const PrivateKey& key, const std::string& name) {
  const RequestPtr request(X509_REQ_new());
  GLIM_CHECK(request != nullptr && X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1 &&
                 X509_REQ_set_pubkey(request.get(), key.raw()) == 1,
             "a request can be made");
  constexpr std::size_t kCommonNameMax = 64;  // X.520
  const std::string common = name.substr(0, kCommonNameMax);
  // A name that cannot stand there is left out: it is for people alone.
  (void)X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(common.data()),
                                   static_cast<int>(common.size()), -1, 0);
  GLIM_CHECK(X509_REQ_sign(request.get(), key.raw(), EVP_sha256()) > 0, "a request can be signed");
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  GLIM_CHECK(size > 0, "a request can be written");
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  (void)OpensslError();
  return der;
}

Result<PublicKey> ReadRequest(std::string_view der) {
  if (der.empty()) return BadCsr("is empty");
  if (der.size() > kRequestBytesMax) return BadCsr("is longer than " + std::to_string(kRequestBytesMax) + " bytes");
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* const end = at + der.size();
  const RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  if (request == nullptr) return BadCsr("cannot be read: " + OpensslError());
  if (at != end) return BadCsr("has bytes behind it");
  // Before the signature is looked at: reckoning with a strange key may take long.
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  const Result<PublicKey> half = PublicKey::Of(key);
  if (!half.ok()) return BadCsr("is not of a key on P-256");
  if (X509_REQ_verify(request.get(), key) != 1) return BadCsr("is not signed by its own key: " + OpensslError());
  return half;
}

}  // namespace glim::pki
