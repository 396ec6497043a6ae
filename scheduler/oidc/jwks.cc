#include "scheduler/oidc/jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <nlohmann/json.hpp>

#include <optional>

namespace glim::oidc {
namespace {

using nlohmann::json;

constexpr std::size_t kKeysMax = 64;
constexpr int kRsaBitsLeast = 2048;
constexpr int kRsaBitsMax = 8192;
constexpr std::size_t kCoordinateBytes = 32;

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* value) const {
    Free(value);
  }
};
using BigNumber = std::unique_ptr<BIGNUM, Freer<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freer<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freer<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freer<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freer<ECDSA_SIG_free>>;

const unsigned char* Bytes(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

BigNumber Number(const std::string& bytes) {
  return BigNumber(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::optional<std::string> Text(const json& key, const char* name) {
  const auto it = key.find(name);
  if (it == key.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

std::optional<std::string> Decoded(const json& key, const char* name) {
  const auto text = Text(key, name);
  return text ? DecodeBase64Url(*text) : std::nullopt;
}

std::shared_ptr<EVP_PKEY> MakeKey(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return {made, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> RsaKey(const json& key) {
  const auto modulus = Decoded(key, "n");
  const auto exponent = Decoded(key, "e");
  if (!modulus || !exponent || modulus->size() > kRsaBitsMax / 8 || exponent->size() > 8) return nullptr;
  const BigNumber n = Number(*modulus), e = Number(*exponent);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || BN_num_bits(n.get()) < kRsaBitsLeast || BN_is_odd(e.get()) == 0 ||
      BN_is_one(e.get()) != 0 || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  return MakeKey("RSA", builder.get());
}

// A point that is not on the curve is refused by OpenSSL.
std::shared_ptr<EVP_PKEY> EcKey(const json& key) {
  const auto x = Decoded(key, "x");
  const auto y = Decoded(key, "y");
  if (Text(key, "crv") != "P-256" || !x || !y || x->size() != kCoordinateBytes || y->size() != kCoordinateBytes) {
    return nullptr;
  }
  const std::string point = '\x04' + *x + *y;
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return nullptr;
  }
  return MakeKey("EC", builder.get());
}

std::optional<PublicKey> ReadKey(const json& key) {
  if (!key.is_object() || Text(key, "use").value_or("sig") != "sig") return std::nullopt;
  PublicKey out;
  out.kid = Text(key, "kid").value_or("");
  const std::string type = Text(key, "kty").value_or("");
  out.algorithm = type == "EC" ? Algorithm::kEs256 : Algorithm::kRs256;
  const char* name = type == "EC" ? "ES256" : "RS256";
  if (Text(key, "alg").value_or(name) != name) return std::nullopt;
  if (type == "RSA") out.key = RsaKey(key);
  if (type == "EC") out.key = EcKey(key);
  if (!out.key) return std::nullopt;
  return out;
}

// JSON Web Signatures have both numbers as they are, OpenSSL takes DER.
std::string DerOf(const std::string& raw) {
  if (raw.size() != 2 * kCoordinateBytes) return "";
  BigNumber r = Number(raw.substr(0, kCoordinateBytes)), s = Number(raw.substr(kCoordinateBytes));
  const Signature signature(ECDSA_SIG_new());
  if (!r || !s || !signature || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return "";
  (void)r.release();  // the signature's
  (void)s.release();
  unsigned char* der = nullptr;
  const int bytes = i2d_ECDSA_SIG(signature.get(), &der);
  if (bytes <= 0) return "";
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(bytes));
  OPENSSL_free(der);
  return text;
}

}  // namespace

Result<std::vector<PublicKey>> ParseJwks(std::string_view text) {
  const json set = text.size() <= kJwksBytesMax ? json::parse(text, nullptr, false) : json();
  const auto list = set.is_object() ? set.find("keys") : set.end();
  if (!set.is_object() || list == set.end() || !list->is_array() || list->size() > kKeysMax) {
    return Status(StatusCode::kDataLoss, "what the issuer shows as its keys is no key set");
  }
  std::vector<PublicKey> keys;
  for (const json& key : *list) {
    if (auto read = ReadKey(key)) keys.push_back(std::move(*read));
  }
  return keys;
}

const PublicKey* FindKey(const std::vector<PublicKey>& keys, const Jwt& jwt) {
  const PublicKey* found = nullptr;
  for (const PublicKey& key : keys) {
    if (key.algorithm != jwt.algorithm) continue;
    if (!jwt.kid.empty()) {
      if (key.kid == jwt.kid) return &key;
      continue;
    }
    if (found != nullptr) return nullptr;  // which one?
    found = &key;
  }
  return found;
}

bool IsSignedBy(const Jwt& jwt, const PublicKey& key) {
  if (key.algorithm != jwt.algorithm) return false;
  const std::string signature = key.algorithm == Algorithm::kEs256 ? DerOf(jwt.signature) : jwt.signature;
  const DigestContext context(EVP_MD_CTX_new());
  return !signature.empty() && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.key.get()) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(jwt.signed_part),
                          jwt.signed_part.size()) == 1;
}

}  // namespace glim::oidc
