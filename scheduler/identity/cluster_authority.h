// The cluster's own authority: it signs the certificates of nodes and schedulers, and can be changed for another one
// while the cluster runs (docs/protocols/identity.md).
//
// How it is changed: Begin makes a new authority, which signs nodes from then on, while schedulers still show what the
// old one signed. Agents are told to trust both (Trust), and renew; who has renewed has heard of the new one. When all
// have, Finish drops the old one, and the scheduler shows what the new one signs.
//
// A value, for one thread at a time; whoever changes it writes Rows() to the store in the same step, and takes the copy
// of before when that fails. No clock is read: the caller says the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/identity.h"
#include "scheduler/identity/key_file.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/random_source.h"
#include "sdk/pki/sign.h"

namespace glim::identity {

inline constexpr char kAuthorityRow[] = "ca";         // signs nodes
inline constexpr char kOldAuthorityRow[] = "ca.old";  // while the authority is changed: signs schedulers
inline constexpr Duration kNodeLifetime = Hours(30 * 24);
inline constexpr Duration kSchedulerLifetime = Hours(365 * 24);
inline constexpr Duration kAuthorityLifetime = Hours(10 * 365 * 24);
inline constexpr Duration kBackdate = Hours(24);  // for clocks that are behind: as far as an epoch may be ahead

class ClusterAuthority {
 public:
  // A new one. INVALID_ARGUMENT: `cluster` cannot stand in a certificate (pki::IsClusterName).
  static Result<ClusterAuthority> Create(const std::string& cluster, TimePoint now, pki::RandomSource random);
  // What Rows wrote; `old` only while the authority is changed. Errors are those of Unseal; DATA_LOSS (TORN_ROW) when
  // what is sealed is no authority of this cluster, or certificate and key do not belong together.
  static Result<ClusterAuthority> Open(const std::string& cluster, const ClusterKey& key, const core::SealedRow& row,
                                       const std::optional<core::SealedRow>& old, pki::RandomSource random);
  // All that is to be in the store: kAuthorityRow, and kOldAuthorityRow while it is changed (else that row is removed).
  std::vector<core::SealedRow> Rows(const ClusterKey& key) const;

  // For whoever has the key that `csr` (DER, from anybody) shows. Errors of pki::ReadRequest and pki::SignNode.
  Result<pki::Certificate> SignNode(std::string_view csr, const std::string& node, TimePoint now,
                                    Duration lifetime = kNodeLifetime) const;
  Result<pki::Certificate> SignScheduler(const pki::PrivateKey& key, const pki::ServerNames& names, TimePoint now,
                                         Duration lifetime = kSchedulerLifetime) const;
  // What a scheduler shows: its certificate with the authority that signed it behind, for the invited to find.
  std::vector<pki::Certificate> ChainOf(const pki::Certificate& scheduler) const;

  // Whose certificates count, for both sides: the old one, if any, and last the one that signs nodes.
  std::vector<pki::Certificate> Trust() const;
  // Whether one of these has the key with this id (pki::Certificate::issuer_key_id of what it has signed).
  bool Counts(std::string_view key_id) const;
  // Whose fingerprint an invitation tells: of the one that signs schedulers now.
  const pki::Certificate& ShownAuthority() const;
  // The one that signs nodes.
  const pki::Certificate& Signer() const { return current_.certificate; }
  // Whether a certificate with this serial (NodeIdentity.serial) is of the one that signs nodes.
  bool IsOfSigner(std::string_view serial) const;

  bool changing() const { return old_.has_value(); }
  // FAILED_PRECONDITION (ROTATION): it is being changed already.
  Status Begin(TimePoint now);
  // FAILED_PRECONDITION (ROTATION): nothing was begun. (NOT_RENEWED): `not_renewed`, the nodes whose certificate is not
  // of the new one, is not empty, and nobody insists; they would have to be invited again.
  Status Finish(const std::vector<std::string>& not_renewed, bool force);

 private:
  ClusterAuthority(std::string cluster, pki::Authority current, std::optional<pki::Authority> old,
                   pki::RandomSource random)
      : cluster_(std::move(cluster)), current_(std::move(current)), old_(std::move(old)), random_(std::move(random)) {}

  std::string cluster_;
  pki::Authority current_;
  std::optional<pki::Authority> old_;
  pki::RandomSource random_;
};

}  // namespace glim::identity
