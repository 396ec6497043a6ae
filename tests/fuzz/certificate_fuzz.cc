// Any bytes as a certificate, in DER and in PEM: a certificate that reads back to the same, or a refusal that can be
// printed; never one that an authority which did not sign it vouches for.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/utf8.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/sign.h"
#include "sdk/pki/verify.h"
#include "tests/fuzz/holds.h"

namespace glim::pki {
namespace {

using fuzz::Holds;

void CheckCertificateRefusal(const Status& status) {
  Holds(status.code() == StatusCode::kInvalidArgument && status.reason() == "BAD_CERTIFICATE", "a refusal's code");
  Holds(IsUtf8(status.message()) && !HasControl(status.message()), "a refusal is printable", status.message());
}

void CheckCertificate(const Certificate& certificate) {
  static const Authority authority =
      MakeAuthority("c1", SerialTail{}, {TimePoint{0}, TimePoint{4'000'000'000'000}}).value();
  const Result<Certificate> again = Certificate::FromDer(certificate.der());
  Holds(again.ok() && *again == certificate, "what was read reads again");
  const Result<Certificate> from_pem = Certificate::FromPem(certificate.Pem());
  Holds(from_pem.ok() && *from_pem == certificate, "PEM and DER are one certificate");
  Holds(certificate.serial().size() >= 32 && certificate.serial().size() <= 40, "a serial", certificate.serial());
  Holds(certificate.node().empty() || IsNodeName(certificate.node()), "a node's name", certificate.node());
  Holds(certificate.cluster().empty() || IsClusterName(certificate.cluster()), "a cluster", certificate.cluster());
  Holds(certificate.node().empty() || !certificate.is_scheduler(), "one name alone");
  (void)RenewAt(certificate);
  for (const Purpose purpose : {Purpose::kNode, Purpose::kScheduler}) {
    Holds(!VerifyLeaf(certificate, {authority.certificate}, purpose, TimePoint{1'800'000'000'000}).ok(),
          "nobody vouches for a stranger");
  }
  (void)FindAuthority({certificate}, certificate.fingerprint());
}

}  // namespace
}  // namespace glim::pki

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto from_der = glim::pki::Certificate::FromDer(bytes);
  if (from_der.ok()) {
    glim::pki::CheckCertificate(*from_der);
  } else {
    glim::pki::CheckCertificateRefusal(from_der.status());
  }
  const auto all = glim::pki::ReadCertificates(bytes);
  if (!all.ok()) {
    glim::pki::CheckCertificateRefusal(all.status());
    return 0;
  }
  glim::fuzz::Holds(!all->empty() && all->size() <= glim::pki::kCertificatesMax, "how many");
  for (const glim::pki::Certificate& certificate : *all) glim::pki::CheckCertificate(certificate);
  return 0;
}
