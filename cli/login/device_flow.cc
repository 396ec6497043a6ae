#include "cli/login/device_flow.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sdk/https/safe_url.h"

namespace glim::cli {
namespace {

using nlohmann::json;

constexpr Duration kPauseMin = Seconds(1);
constexpr Duration kPauseMax = Seconds(60);
constexpr Duration kWaitMax = Minutes(30);
constexpr Duration kSlower = Seconds(5);  // RFC 8628, slow_down

Status BadIssuer(const std::string& issuer, const std::string& what) {
  return Status(StatusCode::kUnavailable, fmt::format("the issuer {} {}", issuer, what))
      .WithReason("BAD_ISSUER")
      .WithField("oidc_issuer")
      .WithFix("tell the operator: it has to offer OpenID Connect with the device flow");
}

Result<json> JsonOf(const Result<https::Answer>& answer, const std::string& issuer) {
  if (!answer.ok()) return answer.status();
  json document = json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) return document;
  return BadIssuer(issuer, fmt::format("answered with status {} and no JSON", answer->status));
}

std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// At most kWaitMax, whatever stands there.
Duration SecondsOf(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  const bool told = found != object.end() && found->is_number_integer();
  const std::int64_t seconds = told ? found->get<std::int64_t>() : otherwise;
  return Seconds(std::clamp<std::int64_t>(seconds, 0, kWaitMax.ms / 1000));
}

struct Endpoints {
  std::string device, token;
};

Result<Endpoints> Discover(https::Client& http, const std::string& issuer) {
  std::string base = issuer;
  while (base.ends_with('/')) base.pop_back();
  const Result<json> told = JsonOf(http.Get(base + "/.well-known/openid-configuration"), issuer);
  if (!told.ok()) return told.status();
  if (TextOf(*told, "issuer") != issuer) return BadIssuer(issuer, "says that it is another one");
  Endpoints endpoints{TextOf(*told, "device_authorization_endpoint"), TextOf(*told, "token_endpoint")};
  if (endpoints.device.empty() || endpoints.token.empty()) return BadIssuer(issuer, "offers no device flow");
  for (const std::string& url : {endpoints.device, endpoints.token}) {
    if (Status safe = https::CheckUrl(url); !safe.ok()) return safe;
    // Loopback counts as safe only for an issuer that is there itself.
    if (url.starts_with("http://") && !issuer.starts_with("http://")) return BadIssuer(issuer, "leads away from https");
  }
  return endpoints;
}

struct Waiting {
  std::string device_code;
  Duration pause, left;
};

Result<Waiting> Begin(https::Client& http, const DeviceFlow& flow, const std::string& endpoint) {
  const https::Form form = {{"client_id", flow.client}, {"scope", "openid profile email"}};
  const Result<json> begun = JsonOf(http.Post(endpoint, form), flow.issuer);
  if (!begun.ok()) return begun.status();
  const std::string whole = TextOf(*begun, "verification_uri_complete");
  const std::string address = TextOf(*begun, "verification_uri");
  Waiting waiting{TextOf(*begun, "device_code"), SecondsOf(*begun, "interval", 5),
                  SecondsOf(*begun, "expires_in", 600)};
  const std::string code = TextOf(*begun, "user_code");
  if (waiting.device_code.empty() || code.empty() || address.empty()) {
    const std::string error = TextOf(*begun, "error");
    return BadIssuer(flow.issuer, error.empty() ? "begins no device flow" : "begins no device flow: " + error);
  }
  waiting.pause = std::clamp(waiting.pause, kPauseMin, kPauseMax);
  flow.show(whole.empty() ? address : whole, code);
  return waiting;
}

// Nothing in `id_token` yet: ask again.
Result<std::string> AskOnce(https::Client& http, const DeviceFlow& flow, const std::string& endpoint,
                            Waiting* waiting) {
  const https::Form form = {{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                            {"device_code", waiting->device_code},
                            {"client_id", flow.client}};
  const Result<json> answer = JsonOf(http.Post(endpoint, form), flow.issuer);
  if (!answer.ok()) return answer.status();
  std::string id_token = TextOf(*answer, "id_token");
  if (!id_token.empty()) return id_token;
  const std::string error = TextOf(*answer, "error");
  if (error == "authorization_pending") return std::string();
  if (error == "slow_down") {
    waiting->pause = std::min(waiting->pause + kSlower, kPauseMax);
    return std::string();
  }
  if (error == "access_denied") {
    return Status(StatusCode::kPermissionDenied, "the login was refused in the browser").WithReason("LOGIN_DENIED");
  }
  if (error == "expired_token") waiting->left = Duration{0};
  if (error == "expired_token") return std::string();
  return BadIssuer(flow.issuer, error.empty() ? "gave no ID token" : "gave no ID token: " + error);
}

}  // namespace

Result<std::string> LoginAtIssuer(https::Client& http, const DeviceFlow& flow) {
  const Result<Endpoints> endpoints = Discover(http, flow.issuer);
  if (!endpoints.ok()) return endpoints.status();
  Result<Waiting> waiting = Begin(http, flow, endpoints->device);
  if (!waiting.ok()) return waiting.status();
  while (waiting->left.ms > 0) {
    if (flow.pause(waiting->pause)) return Status(StatusCode::kCancelled, "interrupted").WithReason("INTERRUPTED");
    waiting->left = waiting->left - waiting->pause;
    Result<std::string> id_token = AskOnce(http, flow, endpoints->token, &*waiting);
    // A network that fails for a moment is asked again: the code still counts.
    const bool away = id_token.status().reason() == "ISSUER_UNREACHABLE";
    if (!id_token.ok() && !away) return id_token.status();
    if (id_token.ok() && !id_token->empty()) return id_token;
  }
  return Status(StatusCode::kDeadlineExceeded, "nobody confirmed the login in time")
      .WithReason("LOGIN_EXPIRED")
      .WithFix("'glim login --oidc' once more");
}

}  // namespace glim::cli
