#include "scheduler/gateway/sessions.h"

#include <algorithm>
#include <utility>

#include "sdk/tokens/opaque_token.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kCredentialBytesMax = 1'000;

// Of "a=1; b=2". Empty: there is none, or several, of which nobody could say which counts.
std::string CookieOf(const HttpRequest& request, std::string_view name) {
  std::string found;
  int count = 0;
  for (const auto& [header, text] : request.headers) {
    if (header != "cookie") continue;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      std::string_view one = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (one.starts_with(' ')) one.remove_prefix(1);
      if (!one.starts_with(name) || one.size() <= name.size() || one[name.size()] != '=') continue;
      found = one.substr(name.size() + 1);
      ++count;
    }
  }
  return count == 1 ? found : std::string();
}

// Nothing else may be in a call's metadata: gRPC ends the program over it.
bool IsPlain(std::string_view text) {
  return text.size() <= kCredentialBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

Status CrossSite(const char* header) {
  return Status(StatusCode::kPermissionDenied, "the request comes from a page of another site")
      .WithReason("CROSS_SITE")
      .WithField(header)
      .WithFix("use the pages of this server, or a token in Authorization");
}

}  // namespace

bool ChangesSomething(std::string_view verb) { return verb != "GET" && verb != "HEAD" && verb != "OPTIONS"; }

Result<Asker> WhoAsks(const HttpRequest& request, bool identity) {
  Asker asker;
  asker.credentials.peer = request.peer;
  if (!identity) {
    const std::string* const user = request.Header(kUserHeader);
    const bool counts = user != nullptr && request.CountOf(kUserHeader) == 1 && IsPlain(*user);
    asker.credentials.user = counts ? *user : kNobodyInParticular;
    return asker;
  }
  if (const std::string* const authorization = request.Header("authorization")) {
    if (request.CountOf("authorization") > 1 || !IsPlain(*authorization)) {
      return Status(StatusCode::kUnauthenticated, "the request has more than one token, or one that is no text")
          .WithReason("BAD_TOKEN")
          .WithField("authorization")
          .WithFix("send one: Bearer glim_ID_SECRET");
    }
    asker.credentials.authorization = *authorization;
    return asker;
  }
  asker.session = CookieOf(request, SessionCookieName(request.secure));
  if (!IsPlain(asker.session)) asker.session.clear();
  if (!asker.session.empty()) asker.credentials.authorization = "Bearer " + asker.session;
  return asker;
}

Status CheckSite(const HttpRequest& request) {
  const std::string* const site = request.Header("sec-fetch-site");
  if (site != nullptr && *site != "same-origin" && *site != "none") return CrossSite("Sec-Fetch-Site");
  const std::string* const origin = request.Header("origin");
  if (origin == nullptr) return Status::Ok();
  const std::string* const host = request.Header("host");
  const std::string own = (request.secure ? "https://" : "http://") + (host == nullptr ? std::string() : *host);
  return host != nullptr && *origin == own ? Status::Ok() : CrossSite("Origin");
}

Status CheckForgery(const HttpRequest& request, const Asker& asker) {
  if (asker.session.empty()) return Status::Ok();
  if (!ChangesSomething(request.verb)) {
    // A page elsewhere cannot read the answer; it need not have one made all the same.
    const std::string* const site = request.Header("sec-fetch-site");
    return site != nullptr && *site == "cross-site" ? CrossSite("Sec-Fetch-Site") : Status::Ok();
  }
  if (Status s = CheckSite(request); !s.ok()) return s;
  const std::string* const shown = request.Header(kCsrfHeader);
  if (shown != nullptr && request.CountOf(kCsrfHeader) == 1 && SameHash(*shown, CsrfTokenOf(asker.session))) {
    return Status::Ok();
  }
  return Status(StatusCode::kPermissionDenied, "the request came by cookie and does not show the session's CSRF token")
      .WithReason("CSRF")
      .WithField("X-Glim-Csrf")
      .WithFix("send the csrf of GET /v1/session in that header");
}

std::string CsrfTokenOf(std::string_view session) { return HashOf("glim csrf " + std::string(session)); }

std::string SessionCookie(std::string_view token, std::int64_t seconds, bool secure) {
  return std::string(SessionCookieName(secure)) + "=" + std::string(token) +
         "; Path=/; Max-Age=" + std::to_string(seconds) + "; HttpOnly; SameSite=Strict" + (secure ? "; Secure" : "");
}

}  // namespace glim::gateway
