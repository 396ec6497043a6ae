#include "sdk/https/https.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
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
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
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
  find(&curl.append, "curl_slist_append");
  find(&curl.free_list, "curl_slist_free_all");
  if (whole) return curl;
  return Status(StatusCode::kFailedPrecondition, "a login by OpenID Connect, or a webhook, needs libcurl.so.4")
      .WithReason("NO_LIBCURL")
      .WithFix("install Debian's package libcurl4 on this machine (or log in with 'glim login --token')");
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

const Result<Curl>& Loaded() {
  static const Result<Curl> loaded = LoadCurl();
  return loaded;
}

int EndIfStopping(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
}

Answer WithStatus(const Curl& curl, CURL* handle, Answer answer) {
  long status = 0;
  curl.getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

Result<Answer> Perform(const std::string& url, const std::string* form) {
  if (Status allowed = CheckUrl(url); !allowed.ok()) return allowed;
  if (!Loaded().ok()) return Loaded().status();
  const Curl& curl = *Loaded();
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
  return WithStatus(curl, handle.get(), std::move(answer));
}

}  // namespace

Result<Answer> CurlClient::Get(const std::string& url) { return Perform(url, nullptr); }

Result<Answer> CurlClient::Post(const std::string& url, const Form& form) {
  const std::string body = Encoded(form);
  return Perform(url, &body);
}

Result<Answer> PostJson(const JsonPost& post, const std::atomic<bool>& stopping) {
  if (!IsSafeUrl(post.url)) return InvalidArgument("url", "is not safe to send to", "use https").WithReason("BAD_URL");
  if (post.body.size() > kPostBytesMax) return InvalidArgument("body", "is too long", "send less");
  if (!Loaded().ok()) return Loaded().status();
  const Curl& curl = *Loaded();
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  curl_slist* lines = curl.append(nullptr, "Content-Type: application/json");
  for (const auto& [name, value] : post.headers) {
    if (curl_slist* const longer = curl.append(lines, (name + ": " + value).c_str())) lines = longer;
  }
  const std::unique_ptr<curl_slist, decltype(curl.free_list)> headers(lines, curl.free_list);
  Answer answer;
  CURLcode code = CURLE_FAILED_INIT;
  if (handle) {
    SetUp(curl, handle.get(), post.url, &answer);
    curl.setopt(handle.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(post.body.size()));
    curl.setopt(handle.get(), CURLOPT_POSTFIELDS, post.body.c_str());
    curl.setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    curl.setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
    curl.setopt(handle.get(), CURLOPT_QUICK_EXIT, 1L);  // a resolver that hangs is not waited for
    curl.setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, &EndIfStopping);
    curl.setopt(handle.get(), CURLOPT_XFERINFODATA, &stopping);
    code = curl.perform(handle.get());
  }
  // Without the URL: its path may be as good as a password.
  if (code != CURLE_OK) return Status(StatusCode::kUnavailable, curl.strerror(code)).WithReason("NO_ANSWER");
  return WithStatus(curl, handle.get(), std::move(answer));
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
