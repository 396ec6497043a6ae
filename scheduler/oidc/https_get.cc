#include "scheduler/oidc/https_get.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace glim::oidc {
namespace {

constexpr std::size_t kBodyBytesMax = 256 << 10;
constexpr std::size_t kUrlBytesMax = 2048;
constexpr long kConnectMsMax = 5'000;
constexpr long kAllMsMax = 10'000;

std::size_t TakeBody(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto* const body = static_cast<std::string*>(into);
  if (body->size() + size * count > kBodyBytesMax) return 0;  // ends the transfer
  body->append(bytes, size * count);
  return size * count;
}

Status NoAnswer(const std::string& url, const std::string& why) {
  return Status(StatusCode::kUnavailable, "no answer from " + url + ": " + why)
      .WithReason("ISSUER_UNREACHABLE")
      .WithFix("try again; if it stays so, an operator looks at `oidc` of the scheduler's configuration");
}

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
  if (authority.empty() || authority.find('@') != std::string_view::npos) return false;
  if (!plain) return true;
  for (const std::string_view host : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!authority.starts_with(host)) continue;
    const std::string_view port = authority.substr(host.size());
    return port.empty() || (port.front() == ':' && port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  }
  return false;
}

Result<std::string> HttpsGet(const std::string& url) {
  if (!IsSafeUrl(url)) {
    return InvalidArgument("oidc.issuer", "'" + url + "' is not https, nor http of this machine", "use https");
  }
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), &curl_easy_cleanup);
  if (!handle) return NoAnswer(url, "libcurl does not begin");
  const bool plain = url.starts_with("http://");
  std::string body;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectMsMax);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kAllMsMax);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  if (plain) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) return NoAnswer(url, curl_easy_strerror(code));
  long answer = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
  if (answer != 200) return NoAnswer(url, "it says " + std::to_string(answer));
  return body;
}

}  // namespace glim::oidc
