#include "sdk/pki/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

constexpr std::size_t kSerialBytesMax = 20;
constexpr std::size_t kSerialDigitsMin = 32;
constexpr std::size_t kKeyIdBytesMax = 64;
constexpr std::size_t kPemBytesMax = kCertificatesMax * kCertificateBytesMax * 2;
constexpr std::string_view kUriStart = "glim://";

using NumberPtr = OpensslPtr<BIGNUM, BN_free>;
using NamesPtr = OpensslPtr<GENERAL_NAMES, GENERAL_NAMES_free>;

Status BadCertificate(const std::string& what) {
  return Status(StatusCode::kInvalidArgument, "the certificate " + what)
      .WithReason("BAD_CERTIFICATE")
      .WithField("certificate")
      .WithFix("use an X.509 certificate of at most 8 KiB");
}

std::string HexOf(const ASN1_STRING* bytes) {
  return HexText(std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(bytes)),
                                  static_cast<std::size_t>(ASN1_STRING_length(bytes))));
}

bool AreNameCharacters(std::string_view text, std::size_t size_max, std::string_view beside) {
  return !text.empty() && text.size() <= size_max && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || beside.find(c) != std::string_view::npos;
  });
}

// The URIs of the certificate that begin with glim://, of any form.
std::vector<std::string> UrisOf(const X509* certificate) {
  int critical = 0;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nullptr)));  // null: none, broken, or several
  std::vector<std::string> uris;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    std::string uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                    static_cast<std::size_t>(ASN1_STRING_length(text)));
    if (uri.starts_with(kUriStart)) uris.push_back(std::move(uri));
  }
  return uris;
}

}  // namespace

bool IsClusterName(std::string_view name) { return AreNameCharacters(name, 128, "._-ABCDEFGHIJKLMNOPQRSTUVWXYZ"); }
bool IsNodeName(std::string_view name) { return AreNameCharacters(name, 63, ".-"); }

class CertificateReader {
 public:
  static Result<Certificate> Read(std::string_view der) {
    if (der.empty()) return BadCertificate("is empty");
    if (der.size() > kCertificateBytesMax) return BadCertificate("is longer than 8 KiB");
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    std::shared_ptr<X509> certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())), X509_free);
    if (certificate == nullptr) return BadCertificate("cannot be read: " + OpensslError());
    auto facts = std::make_shared<Certificate::Facts>();
    facts->der = der;
    Status status = CheckForm(certificate.get(), der);
    if (status.ok()) status = ReadNumbers(certificate.get(), facts.get());
    if (!status.ok()) return status;
    facts->is_authority = X509_check_ca(certificate.get()) == 1;
    if (const Result<PublicKey> key = PublicKey::Of(X509_get0_pubkey(certificate.get())); key.ok()) {
      facts->public_key = key->der();
    }
    ReadName(UrisOf(certificate.get()), facts.get());
    (void)OpensslError();
    return Certificate(std::move(certificate), std::move(facts));
  }

 private:
  // Written in the one way: else two texts were one certificate with two fingerprints.
  static Status CheckForm(X509* certificate, std::string_view der) {
    unsigned char* bytes = nullptr;
    const int size = i2d_X509(certificate, &bytes);
    const bool same = size > 0 && der == std::string_view(reinterpret_cast<char*>(bytes), static_cast<unsigned>(size));
    OPENSSL_free(bytes);
    if (!same) return BadCertificate("is not DER, or has bytes behind it");
    if (X509_get_version(certificate) != X509_VERSION_3) return BadCertificate("is not of version 3");
    (void)X509_check_purpose(certificate, -1, 0);  // reads the extensions
    if ((X509_get_extension_flags(certificate) & EXFLAG_INVALID) != 0) return BadCertificate("has broken extensions");
    return Status::Ok();
  }

  static Status ReadNumbers(X509* certificate, Certificate::Facts* facts) {
    std::array<unsigned char, 32> digest{};
    unsigned size = 0;
    GLIM_CHECK(EVP_Digest(facts->der.data(), facts->der.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
               "SHA-256 is always there");
    facts->fingerprint = HexText(digest);
    if (!ReadTime(X509_get0_notBefore(certificate), &facts->valid_from) ||
        !ReadTime(X509_get0_notAfter(certificate), &facts->valid_until)) {
      return BadCertificate("has no times");
    }
    const NumberPtr serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
    if (serial == nullptr || BN_is_negative(serial.get()) != 0 ||
        static_cast<std::size_t>(BN_num_bytes(serial.get())) > kSerialBytesMax) {
      return BadCertificate("has a serial that is no positive number of at most 20 bytes");
    }
    std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(serial.get())));
    BN_bn2bin(serial.get(), bytes.data());
    facts->serial = HexText(bytes);
    if (facts->serial.size() < kSerialDigitsMin) {
      facts->serial.insert(0, kSerialDigitsMin - facts->serial.size(), '0');
    }
    return ReadKeyId(X509_get0_subject_key_id(certificate), &facts->key_id) &&
                   ReadKeyId(X509_get0_authority_key_id(certificate), &facts->issuer_key_id)
               ? Status::Ok()
               : BadCertificate("has a key id of more than 64 bytes");
  }

  static bool ReadKeyId(const ASN1_OCTET_STRING* id, std::string* into) {
    if (id == nullptr) return true;
    if (static_cast<std::size_t>(ASN1_STRING_length(id)) > kKeyIdBytesMax) return false;
    *into = HexOf(id);
    return true;
  }

  static bool ReadTime(const ASN1_TIME* time, TimePoint* into) {
    std::tm calendar{};
    if (time == nullptr || ASN1_TIME_to_tm(time, &calendar) != 1) return false;
    *into = {static_cast<std::int64_t>(::timegm(&calendar)) * 1000};
    return true;
  }

  static void ReadName(const std::vector<std::string>& uris, Certificate::Facts* facts) {
    if (uris.size() != 1) return;
    const std::string_view path = std::string_view(uris[0]).substr(kUriStart.size());
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || !IsClusterName(path.substr(0, slash))) return;
    const std::string_view rest = path.substr(slash + 1);
    constexpr std::string_view kNode = "node/";
    if (rest.starts_with(kNode) && IsNodeName(rest.substr(kNode.size()))) {
      facts->node = rest.substr(kNode.size());
    } else if (rest == "scheduler") {
      facts->is_scheduler = true;
    } else if (rest != "authority" || !facts->is_authority) {
      return;
    }
    facts->cluster = path.substr(0, slash);
  }
};

Result<Certificate> Certificate::FromDer(std::string_view der) { return CertificateReader::Read(der); }

Result<std::vector<Certificate>> ReadCertificates(std::string_view pem) {
  if (pem.size() > kPemBytesMax) return BadCertificate("text is too long");
  const BioPtr bio = ReadingBio(pem);
  std::vector<Certificate> certificates;
  while (true) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(bio.get(), &name, &header, &data, &size) != 1) break;
    const std::string kind = name;
    const std::string der(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<std::size_t>(size));
    if (kind != "CERTIFICATE") return BadCertificate("file holds something else: only certificates may be there");
    if (certificates.size() == kCertificatesMax) {
      return BadCertificate("file holds more than " + std::to_string(kCertificatesMax));
    }
    Result<Certificate> certificate = Certificate::FromDer(der);
    if (!certificate.ok()) return certificate.status();
    certificates.push_back(std::move(certificate).value());
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = OpensslError();
  if (!at_end) return BadCertificate("text is not PEM: " + reason);
  if (certificates.empty()) return BadCertificate("is missing: there is no BEGIN CERTIFICATE in the text");
  return certificates;
}

Result<Certificate> Certificate::FromPem(std::string_view pem) {
  Result<std::vector<Certificate>> all = ReadCertificates(pem);
  if (!all.ok()) return all.status();
  if (all->size() != 1) return BadCertificate("text holds more than one");
  return all->front();
}

std::string Certificate::Pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  GLIM_CHECK(bio != nullptr && PEM_write_bio_X509(bio.get(), certificate_.get()) == 1, "a certificate can be written");
  return TextOf(bio.get());
}

std::string PemOf(const std::vector<Certificate>& certificates) {
  std::string text;
  for (const Certificate& certificate : certificates) text += certificate.Pem();
  return text;
}

TimePoint RenewAt(const Certificate& certificate) {
  return certificate.valid_from() + (certificate.valid_until() - certificate.valid_from()) * 2 / 3;
}

}  // namespace glim::pki
