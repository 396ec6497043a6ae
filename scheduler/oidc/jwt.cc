#include "scheduler/oidc/jwt.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace glim::oidc {
namespace {

using nlohmann::json;

constexpr std::size_t kClaimBytesMax = 1024;
constexpr std::size_t kAudienceMax = 32;
constexpr double kSecondsMax = 1e12;

// -1: no digit.
int ValueOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

std::optional<json> ParseObject(std::string_view part) {
  const auto text = DecodeBase64Url(part);
  if (!text) return std::nullopt;
  json value = json::parse(*text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

// Missing: empty. False: it is something else.
bool TakeText(const json& object, const char* name, std::string* out) {
  const auto it = object.find(name);
  if (it == object.end()) return true;
  if (!it->is_string() || it->get_ref<const std::string&>().size() > kClaimBytesMax) return false;
  *out = it->get<std::string>();
  return true;
}

// Whole seconds; a fraction is cut off.
std::optional<std::int64_t> WholeSeconds(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const double seconds = value.get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kSecondsMax) return std::nullopt;
  return static_cast<std::int64_t>(seconds);
}

Status TakeHeader(const json& header, Jwt* out) {
  std::string algorithm, type;
  if (!TakeText(header, "alg", &algorithm) || !TakeText(header, "typ", &type) || !TakeText(header, "kid", &out->kid)) {
    return BadIdToken("its header is none");
  }
  if (header.contains("crit")) return BadIdToken("its header asks for more than is known here");
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
  if (!type.empty() && type != "JWT") return BadIdToken("it is another kind of token");
  if (algorithm == "RS256") {
    out->algorithm = Algorithm::kRs256;
  } else if (algorithm == "ES256") {
    out->algorithm = Algorithm::kEs256;
  } else {
    return BadIdToken("it is not signed by RS256 or ES256");
  }
  return Status::Ok();
}

Status TakeAudience(const json& claims, Jwt* out) {
  const Status bad = BadIdToken("it does not say for whom it is");
  const auto it = claims.find("aud");
  if (it == claims.end()) return bad;
  const json list = it->is_array() ? *it : json::array({*it});
  if (list.empty() || list.size() > kAudienceMax) return bad;
  for (const json& one : list) {
    if (!one.is_string() || one.get_ref<const std::string&>().size() > kClaimBytesMax) return bad;
    out->audience.push_back(one.get<std::string>());
  }
  return Status::Ok();
}

Status TakeClaims(const json& claims, Jwt* out) {
  if (!TakeText(claims, "iss", &out->issuer) || !TakeText(claims, "azp", &out->authorized_party)) {
    return BadIdToken("its issuer is no text");
  }
  if (Status s = TakeAudience(claims, out); !s.ok()) return s;
  const auto issued = claims.contains("iat") ? WholeSeconds(claims["iat"]) : std::nullopt;
  const auto expires = claims.contains("exp") ? WholeSeconds(claims["exp"]) : std::nullopt;
  if (!issued || !expires) return BadIdToken("it does not say when it was issued, and until when it counts");
  out->issued_at = *issued;
  out->expires_at = *expires;
  if (claims.contains("nbf")) {
    out->not_before = WholeSeconds(claims["nbf"]);
    if (!out->not_before) return BadIdToken("nbf is no time");
  }
  for (const auto& [name, value] : claims.items()) {
    if (value.is_string() && name.size() <= kClaimBytesMax) out->texts[name] = value.get<std::string>();
  }
  return Status::Ok();
}

}  // namespace

Status BadIdToken(const std::string& what) {
  return Status(StatusCode::kUnauthenticated, "the issuer's ID token is refused: " + what)
      .WithReason("BAD_ID_TOKEN")
      .WithField("id_token")
      .WithFix("sign in again; if it stays so, an operator looks at `oidc` of the scheduler's configuration");
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  unsigned held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int value = ValueOf(c);
    if (value < 0) return std::nullopt;
    held = (held << 6U | static_cast<unsigned>(value)) & 0xffffU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xffU);
  }
  if ((held & ((1U << bits) - 1U)) != 0) return std::nullopt;  // a second spelling of the same bytes
  return bytes;
}

Result<Jwt> ParseJwt(std::string_view text) {
  if (text.size() > kTokenBytesMax) return BadIdToken("it is too long");
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos) {
    return BadIdToken("it has not three parts");
  }
  Jwt jwt;
  const auto header = ParseObject(text.substr(0, first));
  const auto claims = ParseObject(text.substr(first + 1, second - first - 1));
  auto signature = DecodeBase64Url(text.substr(second + 1));
  if (!header || !claims || !signature || signature->empty()) return BadIdToken("one of its parts is none");
  if (Status s = TakeHeader(*header, &jwt); !s.ok()) return s;
  if (Status s = TakeClaims(*claims, &jwt); !s.ok()) return s;
  jwt.signature = std::move(*signature);
  jwt.signed_part = std::string(text.substr(0, second));
  return jwt;
}

}  // namespace glim::oidc
