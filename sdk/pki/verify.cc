#include "sdk/pki/verify.h"

#include <algorithm>

#include "sdk/base/check.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

using StorePtr = OpensslPtr<X509_STORE, X509_STORE_free>;
using StoreContextPtr = OpensslPtr<X509_STORE_CTX, X509_STORE_CTX_free>;

Status NotGood(const char* reason, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kUnauthenticated, what).WithReason(reason).WithField("certificate").WithFix(fix);
}

Status InWords(int error) {
  const std::string words = X509_verify_cert_error_string(error);
  switch (error) {
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return NotGood("CERTIFICATE_EXPIRED", "the certificate or its authority's is not in force now: " + words,
                     "look at both clocks; a node whose certificate has expired is enrolled again");
    case X509_V_ERR_INVALID_PURPOSE:
      return NotGood("WRONG_PURPOSE", "the certificate is not for this use: " + words,
                     "a node's certificate is for nodes, a scheduler's for schedulers");
    default:
      return NotGood("UNKNOWN_AUTHORITY", "the certificate is not of an authority that counts here: " + words,
                     "use the authorities that the scheduler tells, or enrol the node again");
  }
}

std::string DigitsOf(std::string_view fingerprint) {
  std::string digits;
  for (const char c : fingerprint) {
    if (c != ':') digits += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return digits;
}

}  // namespace

Status VerifyLeaf(const Certificate& leaf, const std::vector<Certificate>& authorities, Purpose purpose,
                  TimePoint now) {
  const StorePtr store(X509_STORE_new());
  const StoreContextPtr context(X509_STORE_CTX_new());
  GLIM_CHECK(store != nullptr && context != nullptr, "out of memory");
  for (const Certificate& authority : authorities) {
    if (!authority.is_authority()) continue;
    GLIM_CHECK(X509_STORE_add_cert(store.get(), authority.raw()) == 1, "out of memory");
  }
  GLIM_CHECK(X509_STORE_CTX_init(context.get(), store.get(), leaf.raw(), nullptr) == 1, "out of memory");
  X509_STORE_CTX_set_time(context.get(), 0, now.ms / 1000);
  GLIM_CHECK(X509_STORE_CTX_set_purpose(
                 context.get(), purpose == Purpose::kNode ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER) == 1,
             "the purposes of TLS are known");
  const bool good = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  (void)OpensslError();
  if (!good) return InWords(error);
  const bool named = purpose == Purpose::kNode ? !leaf.node().empty() : leaf.is_scheduler();
  return named && !leaf.is_authority() ? Status::Ok() : InWords(X509_V_ERR_INVALID_PURPOSE);
}

Status VerifyOwn(const Certificate& leaf, const std::vector<Certificate>& authorities, const std::string& cluster,
                 const std::string& node, const PrivateKey& key, TimePoint now) {
  if (Status status = VerifyLeaf(leaf, authorities, Purpose::kNode, now); !status.ok()) return status;
  const std::string fix = "enrol the node again, with an invitation for this name";
  if (leaf.cluster() != cluster) return NotGood("NOT_OURS", "the certificate is of another cluster", fix);
  if (leaf.node() != node) return NotGood("NOT_OURS", "the certificate is for node " + leaf.node(), fix);
  if (!leaf.IsFor(PublicHalf(key))) return NotGood("NOT_OURS", "the certificate is for another key", fix);
  return Status::Ok();
}

Result<Certificate> FindAuthority(const std::vector<Certificate>& chain, std::string_view fingerprint) {
  const std::string digits = DigitsOf(fingerprint);
  constexpr std::size_t kDigits = 64;
  if (digits.size() != kDigits || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument("ca_fingerprint", "this is no fingerprint of a certificate",
                           "give the 64 hexadecimal digits that `glim admin node invite` printed");
  }
  const auto found = std::find_if(chain.begin(), chain.end(), [&](const Certificate& certificate) {
    return certificate.is_authority() && certificate.fingerprint() == digits;
  });
  const bool good = found != chain.end() && X509_self_signed(found->raw(), 1) == 1 &&
                    X509_verify(chain.front().raw(), X509_get0_pubkey(found->raw())) == 1;
  (void)OpensslError();
  if (good) return *found;
  return NotGood("FINGERPRINT", "the server's certificate is not of the authority with this fingerprint",
                 "check the scheduler's address; if the authority was changed meanwhile, invite the node again");
}

}  // namespace glim::pki
