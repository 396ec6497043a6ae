#include "sdk/pki/sign.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

constexpr std::size_t kKeyIdBytes = 20;
constexpr std::size_t kSerialStartBytes = 4;
constexpr std::size_t kDnsNameMax = 253;
constexpr std::size_t kServerNamesMax = 32;

using AltNamesPtr = OpensslPtr<GENERAL_NAMES, GENERAL_NAMES_free>;
using KeyId = std::array<unsigned char, kKeyIdBytes>;

// The first bytes of the SHA-256 of the key as it stands in a certificate (RFC 7093, method 4).
KeyId IdOf(const PublicKey& key) {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  GLIM_CHECK(EVP_Digest(key.der().data(), key.der().size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
             "SHA-256 is always there");
  KeyId id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

struct Form {
  std::string common_name;  // for people
  std::string uri;
  ServerNames names;
  int use = NID_undef;  // of the extended ones; none: an authority
};

void Must(bool done) { GLIM_CHECK(done, "a certificate can be made: " + OpensslError()); }

bool IsDnsName(std::string_view name) {
  return !name.empty() && name.size() <= kDnsNameMax && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

void AddTo(GENERAL_NAMES* names, int kind, ASN1_STRING* value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  Must(name != nullptr && value != nullptr);
  GENERAL_NAME_set0_value(name, kind, value);
  Must(sk_GENERAL_NAME_push(names, name) > 0);
}

ASN1_STRING* TextValue(std::string_view text) {
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  Must(value != nullptr && ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) == 1);
  return value;
}

void AddExtension(X509* certificate, int nid, void* value, bool critical) {
  Must(X509_add1_ext_i2d(certificate, nid, value, critical ? 1 : 0, X509V3_ADD_DEFAULT) == 1);
}

void AddUses(X509* certificate, int use) {
  const OpensslPtr<BASIC_CONSTRAINTS, BASIC_CONSTRAINTS_free> constraints(BASIC_CONSTRAINTS_new());
  const OpensslPtr<ASN1_BIT_STRING, ASN1_BIT_STRING_free> bits(ASN1_BIT_STRING_new());
  Must(constraints != nullptr && bits != nullptr);
  const bool authority = use == NID_undef;
  constexpr int kDigitalSignature = 0, kKeyCertSign = 5, kCrlSign = 6;  // RFC 5280, 4.2.1.3
  if (authority) {
    constraints->ca = 0xff;
    constraints->pathlen = ASN1_INTEGER_new();
    Must(constraints->pathlen != nullptr && ASN1_INTEGER_set(constraints->pathlen, 0) == 1);
    Must(ASN1_BIT_STRING_set_bit(bits.get(), kKeyCertSign, 1) == 1);
    Must(ASN1_BIT_STRING_set_bit(bits.get(), kCrlSign, 1) == 1);
  } else {
    Must(ASN1_BIT_STRING_set_bit(bits.get(), kDigitalSignature, 1) == 1);
  }
  AddExtension(certificate, NID_basic_constraints, constraints.get(), true);
  AddExtension(certificate, NID_key_usage, bits.get(), true);
  if (authority) return;
  const OpensslPtr<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free> uses(EXTENDED_KEY_USAGE_new());
  Must(uses != nullptr && sk_ASN1_OBJECT_push(uses.get(), OBJ_nid2obj(use)) > 0);
  AddExtension(certificate, NID_ext_key_usage, uses.get(), false);
}

void AddKeyIds(X509* certificate, const PublicKey& own, const PublicKey& signer) {
  const OpensslPtr<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> id(ASN1_OCTET_STRING_new());
  const OpensslPtr<AUTHORITY_KEYID, AUTHORITY_KEYID_free> of_signer(AUTHORITY_KEYID_new());
  Must(id != nullptr && of_signer != nullptr);
  Must(ASN1_OCTET_STRING_set(id.get(), IdOf(own).data(), kKeyIdBytes) == 1);
  AddExtension(certificate, NID_subject_key_identifier, id.get(), false);
  of_signer->keyid = ASN1_OCTET_STRING_new();
  Must(of_signer->keyid != nullptr && ASN1_OCTET_STRING_set(of_signer->keyid, IdOf(signer).data(), kKeyIdBytes) == 1);
  AddExtension(certificate, NID_authority_key_identifier, of_signer.get(), false);
}

// INVALID_ARGUMENT: a name that is none.
Status AddNames(X509* certificate, const Form& form) {
  const AltNamesPtr names(GENERAL_NAMES_new());
  Must(names != nullptr);
  AddTo(names.get(), GEN_URI, TextValue(form.uri));
  if (form.names.dns.size() + form.names.addresses.size() > kServerNamesMax) {
    return InvalidArgument("names", "a certificate has at most " + std::to_string(kServerNamesMax) + " names");
  }
  for (const std::string& name : form.names.dns) {
    if (!IsDnsName(name)) return InvalidArgument("names", "\"" + name + "\" is no host's name");
    AddTo(names.get(), GEN_DNS, TextValue(name));
  }
  for (const std::string& address : form.names.addresses) {
    ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(address.c_str());
    if (bytes == nullptr) {
      (void)OpensslError();
      return InvalidArgument("names", "\"" + address + "\" is no IPv4 or IPv6 address");
    }
    AddTo(names.get(), GEN_IPADD, bytes);
  }
  AddExtension(certificate, NID_subject_alt_name, names.get(), false);
  return Status::Ok();
}

void SetCommonName(X509_NAME* name, const std::string& text) {
  Must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text.data()),
                                  static_cast<int>(text.size()), -1, 0) == 1);
}

void SetSerial(X509* certificate, const PublicKey& signer, const SerialTail& tail) {
  std::array<unsigned char, kSerialStartBytes + sizeof(SerialTail)> bytes{};
  std::copy_n(IdOf(signer).begin(), kSerialStartBytes, bytes.begin());
  std::transform(tail.begin(), tail.end(), bytes.begin() + kSerialStartBytes,
                 [](std::byte byte) { return std::to_integer<unsigned char>(byte); });
  const OpensslPtr<BIGNUM, BN_free> number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  Must(number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr);
}

void SetTimes(X509* certificate, const Lifetime& lifetime) {
  Must(ASN1_TIME_set(X509_getm_notBefore(certificate), lifetime.from.ms / 1000) != nullptr);
  Must(ASN1_TIME_set(X509_getm_notAfter(certificate), lifetime.until.ms / 1000) != nullptr);
}

// `issuer`: none where it signs itself.
Result<Certificate> SignForm(const Form& form, const PublicKey& key, const PrivateKey& signer,
                             const std::optional<Certificate>& issuer, const SerialTail& serial,
                             const Lifetime& lifetime) {
  const CertificatePtr certificate(X509_new());
  Must(certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  const PublicKey signers_half = PublicHalf(signer);
  SetSerial(certificate.get(), signers_half, serial);
  SetTimes(certificate.get(), lifetime);
  SetCommonName(X509_get_subject_name(certificate.get()), form.common_name);
  Must(X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer->raw())
                                                      : X509_get_subject_name(certificate.get())) == 1);
  const auto* at = reinterpret_cast<const unsigned char*>(key.der().data());
  const KeyPtr half(d2i_PUBKEY(nullptr, &at, static_cast<long>(key.der().size())));
  Must(half != nullptr && X509_set_pubkey(certificate.get(), half.get()) == 1);
  AddUses(certificate.get(), form.use);
  AddKeyIds(certificate.get(), key, signers_half);
  if (Status status = AddNames(certificate.get(), form); !status.ok()) return status;
  Must(X509_sign(certificate.get(), signer.raw(), EVP_sha256()) > 0);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate.get(), &bytes);
  Must(size > 0);
  const std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return Certificate::FromDer(der);
}

Status CheckCluster(const std::string& cluster) {
  if (IsClusterName(cluster)) return Status::Ok();
  return InvalidArgument("cluster", "\"" + cluster + "\" cannot be a cluster's name in a certificate",
                         "use 1 to 128 letters, digits, '-', '_' and '.'");
}

Result<Certificate> SignLeaf(const Authority& authority, const Form& form, const PublicKey& key,
                             const SerialTail& serial, const Lifetime& lifetime) {
  const TimePoint end = authority.certificate.valid_until();
  if (lifetime.from >= end) {
    return Status(StatusCode::kFailedPrecondition, "the cluster's authority has expired")
        .WithReason("AUTHORITY_EXPIRED")
        .WithFix("begin a new one: glim admin ca rotate");
  }
  return SignForm(form, key, authority.key, authority.certificate, serial,
                  {lifetime.from, std::min(lifetime.until, end)});
}

}  // namespace

Result<Authority> MakeAuthority(const std::string& cluster, const SerialTail& serial, const Lifetime& lifetime) {
  if (Status status = CheckCluster(cluster); !status.ok()) return status;
  PrivateKey key = PrivateKey::Make();
  // With its key's id, so that two authorities of a cluster have different names.
  const std::string id = HexText(IdOf(PublicHalf(key))).substr(0, 2 * kSerialStartBytes);
  const Form form{"glim authority " + id, "glim://" + cluster + "/authority", {}, NID_undef};
  Result<Certificate> certificate = SignForm(form, PublicHalf(key), key, std::nullopt, serial, lifetime);
  if (!certificate.ok()) return certificate.status();
  return Authority{std::move(key), std::move(certificate).value()};
}

Result<Certificate> SignNode(const Authority& authority, const std::string& cluster, const std::string& node,
                             const PublicKey& key, const SerialTail& serial, const Lifetime& lifetime) {
  if (Status status = CheckCluster(cluster); !status.ok()) return status;
  if (!IsNodeName(node)) {
    return InvalidArgument("node", "\"" + node + "\" is no node's name", "use 1 to 63 of a-z 0-9 . -");
  }
  // At most 63 characters: the name stands in the URI, and here for people alone.
  return SignLeaf(authority,
                  {"glim node " + node.substr(0, 50), "glim://" + cluster + "/node/" + node, {}, NID_client_auth}, key,
                  serial, lifetime);
}

Result<Certificate> SignScheduler(const Authority& authority, const std::string& cluster, const ServerNames& names,
                                  const PublicKey& key, const SerialTail& serial, const Lifetime& lifetime) {
  if (Status status = CheckCluster(cluster); !status.ok()) return status;
  Form form{"glim scheduler", "glim://" + cluster + "/scheduler", names, NID_server_auth};
  form.names.dns.insert(form.names.dns.begin(), kSchedulerName);
  return SignLeaf(authority, form, key, serial, lifetime);
}

}  // namespace glim::pki
