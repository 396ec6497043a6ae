#include "sdk/https/https.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#include <array>
#include <cctype>
#include <memory>
#include <type_traits>

#include "sdk/base/hex.h"
#include "sdk/https/safe_url.h"

namespace glim::https {
namespace {

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
      .WithFix("install Debian's package libcurl4 on this machine, or log in with 'glim login --token'");
}

std::size_t TakeBody(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto* const body = static_cast<std::string*>(into);
  if (body->size() + size * count > kAnswerBytesMax) return 0;  // ends the transfer
  body->append(bytes, size * count);
  return size * count;
}

void SetUp(const Curl& curl, CURL* handle, const std::string& url, Answer* answer) {
  const bool plain = url.starts_with("http://");
  curl.setopt(handle, CURLOPT_URL, url.c_str());
  curl.setopt(handle, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
  curl.setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl.setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl.setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  curl.setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl.setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl.setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectMax.ms));
  curl.setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(kAnswerMax.ms));
  curl.setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl.setopt(handle, CURLOPT_WRITEDATA, &answer->body);
  curl.setopt(handle, CURLOPT_USERAGENT, "glim/" GLIM_VERSION);
  if (plain) curl.setopt(handle, CURLOPT_NOPROXY, "*");
}

Result<Answer> Perform(const std::string& url, const std::string* form) {
  if (Status allowed = CheckUrl(url); !allowed.ok()) return allowed;
  static const Result<Curl> loaded = LoadCurl();
  if (!loaded.ok()) return loaded.status();
  const Curl& curl = *loaded;
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  Answer answer;
  CURLcode code = CURLE_FAILED_INIT;
  if (handle) {
    SetUp(curl, handle.get(), url, &answer);
    if (form != nullptr) curl.setopt(handle.get(), CURLOPT_POSTFIELDS, form->c_str());
    code = curl.perform(handle.get());
  }
  if (code != CURLE_OK) {
    return Status(StatusCode::kUnavailable, "no answer from " + url + ": " + curl.strerror(code))
        .WithReason("ISSUER_UNREACHABLE")
        .WithFix("try again; if it stays so, an operator looks at `oidc` of the scheduler's configuration");
  }
  long status = 0;
  curl.getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace

Result<Answer> CurlClient::Get(const std::string& url) { return Perform(url, nullptr); }

Result<Answer> CurlClient::Post(const std::string& url, const Form& form) {
  const std::string body = Encoded(form);
  return Perform(url, &body);
}

std::string Encoded(const Form& form) {
  std::string text;
  for (const auto& [name, value] : form) {
    if (!text.empty()) text += '&';
    text += name + '=';
    for (const char sign : value) {
      const auto byte = static_cast<unsigned char>(sign);
      const bool plain = std::isalnum(byte) != 0 || sign == '-' || sign == '.' || sign == '_' || sign == '~';
      text += plain ? std::string(1, sign) : "%" + HexText(std::array{byte});
    }
  }
  return text;
}

}  // namespace glim::https
