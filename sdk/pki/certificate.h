// X.509 certificates as Glim uses them (docs/protocols/identity.md): who they are for stands in one URI,
// glim://CLUSTER/node/NAME, glim://CLUSTER/scheduler or glim://CLUSTER/authority. Reading one says nothing
// of who signed it: see verify.h.
//
// Errors: INVALID_ARGUMENT (BAD_CERTIFICATE) with what is wrong.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/private_key.h"

struct x509_st;  // OpenSSL's X509

namespace glim::pki {

inline constexpr std::size_t kCertificateBytesMax = 8192;
inline constexpr std::size_t kCertificatesMax = 16;  // of a file or a chain

// Any thread: nothing changes it. Copies share what was read.
class Certificate {
 public:
  // All of `der`, at most kCertificateBytesMax.
  static Result<Certificate> FromDer(std::string_view der);
  // The one certificate of a text, which may have white space and comments around it.
  static Result<Certificate> FromPem(std::string_view pem);

  const std::string& der() const { return facts_->der; }
  std::string Pem() const;
  // SHA-256 of the DER, 64 lower-case hexadecimal digits.
  const std::string& fingerprint() const { return facts_->fingerprint; }
  // Whole seconds; both ends belong to it.
  TimePoint valid_from() const { return facts_->valid_from; }
  TimePoint valid_until() const { return facts_->valid_until; }
  // Lower-case hexadecimal digits, at least 32. Those that our authority signs begin with its key's first 8.
  const std::string& serial() const { return facts_->serial; }
  // Of the certificate's own key and of its signer's, as the certificate says; lower-case hexadecimal, may be empty.
  const std::string& key_id() const { return facts_->key_id; }
  const std::string& issuer_key_id() const { return facts_->issuer_key_id; }
  bool is_authority() const { return facts_->is_authority; }
  // Of its one glim:// URI; without one, with two, or with one that is not as above, all of them are empty.
  const std::string& cluster() const { return facts_->cluster; }
  const std::string& node() const { return facts_->node; }
  bool is_scheduler() const { return facts_->is_scheduler; }
  bool IsFor(const PublicKey& key) const { return facts_->public_key == key.der(); }

  x509_st* raw() const { return certificate_.get(); }
  friend bool operator==(const Certificate& a, const Certificate& b) { return a.der() == b.der(); }

 private:
  friend class CertificateReader;
  struct Facts {
    std::string der, fingerprint, serial, key_id, issuer_key_id, cluster, node, public_key;
    TimePoint valid_from = {}, valid_until = {};
    bool is_authority = false, is_scheduler = false;
  };
  Certificate(std::shared_ptr<x509_st> certificate, std::shared_ptr<const Facts> facts)
      : certificate_(std::move(certificate)), facts_(std::move(facts)) {}
  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<const Facts> facts_;
};

// All certificates of a text, in order: at least one, at most kCertificatesMax.
Result<std::vector<Certificate>> ReadCertificates(std::string_view pem);
// One text, for a file or for gRPC.
std::string PemOf(const std::vector<Certificate>& certificates);

// The node that a certificate is for; none: it is for none.
inline std::optional<std::string> NodeNameOf(const Certificate& c) {
  return c.node().empty() ? std::nullopt : std::optional(c.node());
}
// Empty: of no cluster.
inline const std::string& ClusterOf(const Certificate& c) { return c.cluster(); }

// When two thirds of its time are over: from then on it is renewed.
TimePoint RenewAt(const Certificate& certificate);

// What stands in the URIs: a cluster is 1 to 128 of [A-Za-z0-9._-], a node 1 to 63 of [a-z0-9.-].
bool IsClusterName(std::string_view name);
bool IsNodeName(std::string_view name);

}  // namespace glim::pki
