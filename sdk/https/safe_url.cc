#include "sdk/https/safe_url.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sdk/base/printable.h"

namespace glim::https {
namespace {

// "chat.example", "chat.example:8443", "[::1]:80".
bool HasSafePort(std::string_view authority) {
  if (authority.front() == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    authority.remove_prefix(close);
  }
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view port = authority.substr(colon + 1);
  int number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  return read.ec == std::errc() && read.ptr == port.data() + port.size() && number >= 1 && number <= 65535;
}

constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kShownMax = 128;

}  // namespace

bool IsSafeUrl(const std::string& url) {
  if (url.size() > kUrlBytesMax ||
      std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= 0x20 || c >= 0x7f || c == '\\'; })) {
    return false;
  }
  const bool plain = url.starts_with("http://");
  if (!plain && !url.starts_with("https://")) return false;
  const std::size_t begin = plain ? 7 : 8;
  const std::string_view authority = std::string_view(url).substr(begin, url.find_first_of("/?#", begin) - begin);
  // "http://localhost:80@evil.example" is a name and a password for evil.example.
  if (authority.empty() || authority.find('@') != std::string_view::npos) return false;
  if (!HasSafePort(authority) || url.find('#') != std::string::npos) return false;
  if (!plain) return true;
  for (const std::string_view host : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!authority.starts_with(host)) continue;
    const std::string_view port = authority.substr(host.size());
    return port.empty() || port.front() == ':';
  }
  return false;
}

Status CheckUrl(const std::string& url) {
  if (IsSafeUrl(url)) return Status::Ok();
  return Status(StatusCode::kInvalidArgument, "'" + EscapedStart(url, kShownMax) + "' is not safe to log in at")
      .WithReason("BAD_URL")
      .WithField("oidc.issuer")
      .WithFix("the issuer has to be an https address (http on loopback alone)");
}

}  // namespace glim::https
