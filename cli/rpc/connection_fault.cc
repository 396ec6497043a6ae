#include "cli/rpc/connection_fault.h"

#include <vector>

#include <fmt/format.h>

#include "sdk/pki/certificate.h"
#include "sdk/pki/tls_probe.h"
#include "sdk/pki/verify.h"

namespace glim::cli {
namespace {

constexpr Duration kProbeMax = Seconds(2);

Status TlsWanted(const std::string& server) {
  return Status(StatusCode::kUnavailable, fmt::format("the scheduler at {} speaks TLS, and was asked without", server))
      .WithReason("TLS_WANTED")
      .WithFix("leave out insecure_without_identity (flag, GLIM_INSECURE_WITHOUT_IDENTITY, configuration)");
}

Status NotTls(const std::string& server) {
  return Status(StatusCode::kUnavailable,
                fmt::format("what answers at {} does not speak TLS: no token was sent", server))
      .WithReason("NOT_TLS")
      .WithFix(
          "check the address; a scheduler with insecure_without_identity is asked with "
          "--insecure-without-identity");
}

Status WrongAuthority(const std::string& server, const std::string& fingerprint) {
  return Status(StatusCode::kUnauthenticated,
                fmt::format("what answers at {} is not a scheduler of the authority {}: no token was sent", server,
                            fingerprint.substr(0, 16)))
      .WithReason("WRONG_AUTHORITY")
      .WithFix("check the address; if the operator has changed the authority, 'glim login' with the new one");
}

}  // namespace

Status TlsFault(const std::string& server, const std::string& authorities, TimePoint now) {
  const Result<std::vector<pki::Certificate>> shown = pki::ProbeTls(server, kProbeMax);
  if (authorities.empty()) return shown.ok() ? TlsWanted(server) : Status::Ok();
  if (!shown.ok()) return shown.status().reason() == "NOT_TLS" ? NotTls(server) : Status::Ok();
  const Result<std::vector<pki::Certificate>> known = pki::ReadCertificates(authorities);
  if (!known.ok()) return known.status();
  Status verdict = pki::VerifyLeaf(shown->front(), *known, pki::Purpose::kScheduler, now);
  if (verdict.ok() || verdict.reason() == "CERTIFICATE_EXPIRED") return verdict;
  return WrongAuthority(server, known->front().fingerprint());
}

}  // namespace glim::cli
