#include "cli/login/http.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <memory>

namespace glim::cli {
namespace {

constexpr std::size_t kBodyBytesMax = 1 << 20;

struct Curl {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) setopt = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) getinfo = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_strerror) strerror = nullptr;
};

Result<Curl> LoadCurl() {
  void* const library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  Curl curl;
  bool whole = library != nullptr;
  const auto find = [&](auto* function, const char* name) {
    if (whole) *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(::dlsym(library, name));
    whole = whole && *function != nullptr;
  };
  find(&curl.init, "curl_easy_init");
  find(&curl.setopt, "curl_easy_setopt");
  find(&curl.perform, "curl_easy_perform");
  find(&curl.getinfo, "curl_easy_getinfo");
  find(&curl.cleanup, "curl_easy_cleanup");
  find(&curl.strerror, "curl_easy_strerror");
  if (whole) return curl;
  return Status(StatusCode::kFailedPrecondition, "a login by OpenID Connect needs libcurl.so.4")
      .WithReason("NO_LIBCURL")
      .WithFix("install Debian's package libcurl4, or log in with 'glim login --token'");
}

std::size_t TakeBody(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto* const body = static_cast<std::string*>(into);
  if (body->size() + size * count > kBodyBytesMax) return 0;  // ends the transfer
  body->append(bytes, size * count);
  return size * count;
}

Result<HttpAnswer> Perform(const std::string& url, const std::string* form, Duration within) {
  if (Status allowed = CheckUrl(url); !allowed.ok()) return allowed;
  const Result<Curl> loaded = LoadCurl();
  if (!loaded.ok()) return loaded.status();
  const Curl& curl = *loaded;
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  if (!handle) return Status(StatusCode::kUnavailable, "libcurl does not begin");
  HttpAnswer answer;
  const bool plain = url.starts_with("http://");
  curl.setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl.setopt(handle.get(), CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
  curl.setopt(handle.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl.setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl.setopt(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(within.ms));
  curl.setopt(handle.get(), CURLOPT_WRITEFUNCTION, &TakeBody);
  curl.setopt(handle.get(), CURLOPT_WRITEDATA, &answer.body);
  curl.setopt(handle.get(), CURLOPT_USERAGENT, "glim-cli/" GLIM_VERSION);
  if (plain) curl.setopt(handle.get(), CURLOPT_NOPROXY, "*");
  if (form != nullptr) curl.setopt(handle.get(), CURLOPT_POSTFIELDS, form->c_str());
  const CURLcode code = curl.perform(handle.get());
  if (code != CURLE_OK) {
    return Status(StatusCode::kUnavailable, fmt::format("no answer from {}: {}", url, curl.strerror(code)))
        .WithReason("ISSUER_UNREACHABLE")
        .WithFix("check the network; the operator has named the issuer in the scheduler's configuration");
  }
  long status = 0;
  curl.getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace

Result<HttpAnswer> CurlHttp::Get(const std::string& url, Duration within) { return Perform(url, nullptr, within); }

Result<HttpAnswer> CurlHttp::Post(const std::string& url, const Form& form, Duration within) {
  const std::string body = Encoded(form);
  return Perform(url, &body, within);
}

Status CheckUrl(const std::string& url) {
  // "http://localhost:80@evil.example" is a name and a password for evil.example.
  const bool has_user = url.find('@') != std::string::npos || url.find('\\') != std::string::npos;
  if (!has_user && url.starts_with("https://") && url.size() > 8) return Status::Ok();
  for (const char* host : {"http://127.0.0.1", "http://[::1]", "http://localhost"}) {
    if (has_user || !url.starts_with(host)) continue;
    const std::size_t end = std::string(host).size();
    if (url.size() == end || url[end] == ':' || url[end] == '/') return Status::Ok();
  }
  return Status(StatusCode::kInvalidArgument, fmt::format("'{}' is not safe to log in at", url))
      .WithReason("BAD_URL")
      .WithField("oidc_issuer")
      .WithFix("the issuer has to be an https address (http on loopback alone)");
}

std::string Encoded(const Form& form) {
  std::string text;
  for (const auto& [name, value] : form) {
    if (!text.empty()) text += '&';
    text += name + '=';
    for (const char sign : value) {
      const auto byte = static_cast<unsigned char>(sign);
      const bool plain = std::isalnum(byte) != 0 || sign == '-' || sign == '.' || sign == '_' || sign == '~';
      text += plain ? std::string(1, sign) : fmt::format("%{:02X}", byte);
    }
  }
  return text;
}

}  // namespace glim::cli
