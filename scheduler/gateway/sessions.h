// Who asks over HTTP: a program by its token in Authorization, a browser by the cookie of its session, whose value is a
// token, too. What a page of somebody else makes a browser send does not count: a changing request that comes by cookie
// shows the session's own CSRF token, and neither Origin nor Sec-Fetch-Site may name another site.
//
// Pure; any thread. The CSRF token is made from the session's: nothing is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/gateway/backend.h"
#include "scheduler/gateway/http_types.h"
#include "sdk/base/result.h"

namespace glim::gateway {

// With TLS browsers take a cookie of that name from this host alone, for all its paths, and from no sibling's page
// (RFC 6265bis, 4.1.3.2). Without TLS they take none of that kind.
constexpr std::string_view SessionCookieName(bool secure) { return secure ? "__Host-glim_session" : "glim_session"; }
inline constexpr char kCsrfHeader[] = "x-glim-csrf";
inline constexpr char kUserHeader[] = "glim-user";  // plaintext mode
inline constexpr char kNobodyInParticular[] = "anonymous";

struct Asker {
  Credentials credentials;
  std::string session;  // the cookie's token; empty: none, or Authorization came with it and counts
};

// UNAUTHENTICATED (BAD_TOKEN): Authorization twice. `identity` false: plaintext mode, where a name is claimed.
Result<Asker> WhoAsks(const HttpRequest& request, bool identity);

// Whether a browser may have been made to send it: PERMISSION_DENIED (CSRF, CROSS_SITE). Of requests without a cookie
// that counts it asks nothing.
Status CheckForgery(const HttpRequest& request, const Asker& asker);
// The part of that which needs no session: neither Origin nor Sec-Fetch-Site names another site.
Status CheckSite(const HttpRequest& request);

std::string CsrfTokenOf(std::string_view session);

// The value of Set-Cookie. `seconds` 0: the cookie goes.
std::string SessionCookie(std::string_view token, std::int64_t seconds, bool secure);

bool ChangesSomething(std::string_view verb);

}  // namespace glim::gateway
