#include "sdk/tokens/replica_token.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstring>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/base/little_endian.h"

namespace glim {
namespace {

constexpr std::string_view kStart = "glimr_";
constexpr std::string_view kPurpose = "glim replica certificate\n";  // nothing else that is signed begins so
constexpr std::uint8_t kVersion = 1;

template <typename Bytes>
std::string_view View(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status NoToken() {
  return Status(StatusCode::kUnauthenticated, "this is no replica token of this cluster").WithReason("BAD_TOKEN");
}

void AppendText(std::string& out, const std::string& text) {
  GLIM_CHECK(!text.empty() && text.size() <= kClaimTextBytesMax, "a claim of 1 to 128 bytes");
  AppendLittleEndian(out, static_cast<std::uint8_t>(text.size()));
  out += text;
}

std::string Encode(const ReplicaClaims& claims) {
  std::string out;
  AppendLittleEndian(out, kVersion);
  AppendText(out, claims.cluster);
  AppendLittleEndian(out, claims.job);
  AppendLittleEndian(out, claims.attempt);
  AppendText(out, claims.user);
  AppendLittleEndian(out, claims.uid);
  return out.append(View(claims.key));
}

// Once something is missing, all that follows is.
class Reader {
 public:
  explicit Reader(std::string_view left) : left_(left) {}

  std::string_view Take(std::size_t bytes) {
    if (left_.size() < bytes) good_ = false;
    if (!good_) return {};
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  template <typename Number>
  Number Take() {
    return static_cast<Number>(FromLittleEndian(Take(sizeof(Number))));
  }
  std::string Text() {
    const auto bytes = Take<std::uint8_t>();
    if (bytes == 0 || bytes > kClaimTextBytesMax) good_ = false;
    return std::string(Take(bytes));
  }
  template <std::size_t n>
  void Into(std::array<std::byte, n>& bytes) {
    const std::string_view taken = Take(n);
    if (taken.size() == n) std::memcpy(bytes.data(), taken.data(), n);
  }
  bool whole() const { return good_ && left_.empty(); }

 private:
  std::string_view left_;
  bool good_ = true;
};

struct Read {
  ReplicaClaims claims;
  Ed25519Signature signature{};
};

std::optional<Read> ReadCertificate(std::string_view certificate) {
  Read read;
  Reader reader(certificate);
  const bool known = reader.Take<std::uint8_t>() == kVersion;
  read.claims.cluster = reader.Text();
  read.claims.job = reader.Take<std::uint64_t>();
  read.claims.attempt = reader.Take<std::uint32_t>();
  read.claims.user = reader.Text();
  read.claims.uid = reader.Take<std::uint32_t>();
  reader.Into(read.claims.key);
  reader.Into(read.signature);
  // No attempt has the number 0: it stands for those who only read.
  if (!known || !reader.whole() || read.claims.attempt == 0) return std::nullopt;
  return read;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

Ed25519Seed SeedOf(const Ed25519Seed& issuer, const ReplicaClaims& claims) {
  const std::string of =
      "replica\n" + claims.cluster + "\n" + std::to_string(claims.job) + "\n" + std::to_string(claims.attempt);
  Ed25519Seed seed{};
  unsigned bytes = 0;
  const unsigned char* made = ::HMAC(EVP_sha256(), issuer.data(), static_cast<int>(issuer.size()),
                                     reinterpret_cast<const unsigned char*>(of.data()), of.size(),
                                     reinterpret_cast<unsigned char*>(seed.data()), &bytes);
  GLIM_CHECK(made != nullptr && bytes == seed.size(), "HMAC-SHA-256 is always there");
  return seed;
}

}  // namespace

std::string MakeReplicaToken(const Ed25519Seed& issuer, ReplicaClaims claims) {
  const Ed25519Seed seed = SeedOf(issuer, claims);
  claims.key = PublicKeyOf(seed);
  std::string bytes = Encode(claims);
  const Ed25519Signature signature = Sign(issuer, std::string(kPurpose) + bytes);
  bytes.append(View(signature)).append(View(seed));
  return std::string(kStart) + HexText(bytes);
}

Result<ReplicaToken> ParseReplicaToken(std::string_view text) {
  if (!text.starts_with(kStart) || text.size() > kReplicaTokenBytesMax) return NoToken();
  const auto bytes = FromHex(text.substr(kStart.size()));
  ReplicaToken token;
  if (!bytes || bytes->size() <= token.seed.size()) return NoToken();
  token.certificate = bytes->substr(0, bytes->size() - token.seed.size());
  const auto read = ReadCertificate(token.certificate);
  if (!read) return NoToken();
  std::memcpy(token.seed.data(), bytes->data() + token.certificate.size(), token.seed.size());
  token.claims = read->claims;
  if (PublicKeyOf(token.seed) != token.claims.key) return NoToken();
  return token;
}

Result<ReplicaClaims> CheckReplicaCertificate(std::string_view certificate, std::span<const Ed25519Key> issuers) {
  const auto read = ReadCertificate(certificate);
  if (!read) return NoToken();
  const std::string text =
      std::string(kPurpose) + std::string(certificate.substr(0, certificate.size() - read->signature.size()));
  for (const Ed25519Key& issuer : issuers) {
    if (IsSignedBy(issuer, text, read->signature)) return read->claims;
  }
  return NoToken();
}

std::string KeyText(const Ed25519Key& key) { return HexText(key); }

std::optional<Ed25519Key> ParseKey(std::string_view text) {
  Ed25519Key key{};
  const auto bytes = text.size() == 2 * key.size() ? FromHex(text) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::memcpy(key.data(), bytes->data(), key.size());
  return key;
}

}  // namespace glim
