#include "scheduler/identity/cluster_authority.h"

#include <span>
#include <utility>

#include "scheduler/identity/seal.h"
#include "sdk/pki/certificate_request.h"

namespace glim::identity {
namespace {

constexpr std::size_t kNamedMax = 10;
constexpr std::size_t kSerialStartDigits = 8;  // of the signing key's id
constexpr std::string_view kEndOfCertificate = "-----END CERTIFICATE-----\n";

Status Torn(const std::string& row, const std::string& what) {
  return Status(StatusCode::kDataLoss, "the store's row sealed/" + row + " " + what)
      .WithReason("TORN_ROW")
      .WithFix("restore the store from a backup");
}

Status BadStep(const char* reason, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kFailedPrecondition, what).WithReason(reason).WithFix(fix);
}

std::string AsText(const pki::Authority& authority) { return authority.certificate.Pem() + authority.key.Pem(); }

Result<pki::Authority> FromText(const std::string& cluster, const std::string& row, std::string_view text) {
  const std::size_t end = text.find(kEndOfCertificate);
  if (end == std::string_view::npos) return Torn(row, "holds no certificate");
  const std::size_t key_at = end + kEndOfCertificate.size();
  Result<pki::Certificate> certificate = pki::Certificate::FromPem(text.substr(0, key_at));
  if (!certificate.ok()) return Torn(row, "holds no certificate: " + certificate.status().message());
  Result<pki::PrivateKey> key = pki::PrivateKey::FromPem(text.substr(key_at));
  if (!key.ok()) return Torn(row, "holds no key: " + key.status().message());
  if (!certificate->is_authority()) return Torn(row, "holds a certificate that is no authority's");
  if (certificate->cluster() != cluster) return Torn(row, "holds another cluster's authority");
  if (!certificate->IsFor(pki::PublicHalf(*key))) return Torn(row, "holds a certificate and another one's key");
  return pki::Authority{std::move(key).value(), std::move(certificate).value()};
}

Result<pki::Authority> OpenRow(const std::string& cluster, const ClusterKey& key, const core::SealedRow& row) {
  const Result<std::string> text = Unseal(key, "sealed", row.name, row.bytes);
  if (!text.ok()) return text.status();
  return FromText(cluster, row.name, *text);
}

pki::SerialTail DrawSerial(const pki::RandomSource& random) {
  pki::SerialTail tail{};
  random(tail);
  return tail;
}

Result<pki::Authority> NewAuthority(const std::string& cluster, TimePoint now, const pki::RandomSource& random) {
  return pki::MakeAuthority(cluster, DrawSerial(random), {now - kBackdate, now + kAuthorityLifetime});
}

// "n1, n2 and 3 more".
std::string NamesInWords(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamedMax; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamedMax) text += " and " + std::to_string(names.size() - kNamedMax) + " more";
  return text;
}

}  // namespace

Result<ClusterAuthority> ClusterAuthority::Create(const std::string& cluster, TimePoint now, pki::RandomSource random) {
  Result<pki::Authority> made = NewAuthority(cluster, now, random);
  if (!made.ok()) return made.status();
  return ClusterAuthority(cluster, std::move(made).value(), std::nullopt, std::move(random));
}

Result<ClusterAuthority> ClusterAuthority::Open(const std::string& cluster, const ClusterKey& key,
                                                const core::SealedRow& row, const std::optional<core::SealedRow>& old,
                                                pki::RandomSource random) {
  Result<pki::Authority> current = OpenRow(cluster, key, row);
  if (!current.ok()) return current.status();
  if (!old) return ClusterAuthority(cluster, std::move(current).value(), std::nullopt, std::move(random));
  Result<pki::Authority> before = OpenRow(cluster, key, *old);
  if (!before.ok()) return before.status();
  return ClusterAuthority(cluster, std::move(current).value(), std::move(before).value(), std::move(random));
}

std::vector<core::SealedRow> ClusterAuthority::Rows(const ClusterKey& key) const {
  std::vector<core::SealedRow> rows;
  const auto add = [&](const char* name, const pki::Authority& authority) {
    core::SealedRow& row = rows.emplace_back();
    row.name = name;
    row.bytes = Seal(key, "sealed", name, AsText(authority), random_);
  };
  add(kAuthorityRow, current_);
  if (old_) add(kOldAuthorityRow, *old_);
  return rows;
}

Result<pki::Certificate> ClusterAuthority::SignNode(std::string_view csr, const std::string& node, TimePoint now,
                                                    Duration lifetime) const {
  const Result<pki::PublicKey> key = pki::ReadRequest(csr);
  if (!key.ok()) return key.status();
  return pki::SignNode(current_, cluster_, node, *key, DrawSerial(random_), {now - kBackdate, now + lifetime});
}

Result<pki::Certificate> ClusterAuthority::SignScheduler(const pki::PrivateKey& key, const pki::ServerNames& names,
                                                         TimePoint now, Duration lifetime) const {
  return pki::SignScheduler(old_ ? *old_ : current_, cluster_, names, pki::PublicHalf(key), DrawSerial(random_),
                            {now - kBackdate, now + lifetime});
}

std::vector<pki::Certificate> ClusterAuthority::ChainOf(const pki::Certificate& scheduler) const {
  return {scheduler, ShownAuthority()};
}

std::vector<pki::Certificate> ClusterAuthority::Trust() const {
  std::vector<pki::Certificate> trust;
  if (old_) trust.push_back(old_->certificate);
  trust.push_back(current_.certificate);
  return trust;
}

bool ClusterAuthority::Counts(std::string_view key_id) const {
  return !key_id.empty() && (key_id == current_.certificate.key_id() || (old_ && key_id == old_->certificate.key_id()));
}

const pki::Certificate& ClusterAuthority::ShownAuthority() const {
  return old_ ? old_->certificate : current_.certificate;
}

bool ClusterAuthority::IsOfSigner(std::string_view serial) const {
  return serial.starts_with(std::string_view(Signer().key_id()).substr(0, kSerialStartDigits));
}

Status ClusterAuthority::Begin(TimePoint now) {
  if (changing()) {
    return BadStep("ROTATION", "the authority is being changed already",
                   "finish that first: glim admin ca rotate --finish");
  }
  Result<pki::Authority> made = NewAuthority(cluster_, now, random_);
  if (!made.ok()) return made.status();
  old_ = std::exchange(current_, std::move(made).value());
  return Status::Ok();
}

Status ClusterAuthority::Finish(const std::vector<std::string>& not_renewed, bool force) {
  if (!changing()) return BadStep("ROTATION", "the authority is not being changed", "begin: glim admin ca rotate");
  if (!not_renewed.empty() && !force) {
    return BadStep("NOT_RENEWED",
                   std::to_string(not_renewed.size()) +
                       " nodes have no certificate of the new authority yet: " + NamesInWords(not_renewed),
                   "wait until they were connected once, or insist: they have to be invited again then");
  }
  old_.reset();
  return Status::Ok();
}

}  // namespace glim::identity
