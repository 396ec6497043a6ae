// Requests to an OpenID Connect issuer and to webhooks, by libcurl, which is loaded at the first one: `glim` and a
// scheduler without an issuer and webhooks never need it.
//
// https, verified by the machine's own authorities; http to loopback alone (safe_url.h). No redirects. An answer has at
// most kAnswerBytesMax, within kAnswerMax. Blocks; any thread, each call for itself.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::https {

inline constexpr std::size_t kAnswerBytesMax = 256 << 10;
inline constexpr std::size_t kPostBytesMax = 64 << 10;  // of a JSON document that is sent
inline constexpr Duration kConnectMax = Seconds(5);
inline constexpr Duration kAnswerMax = Seconds(10);  // with the connection

struct Answer {
  int status = 0;  // 200
  std::string body;
};

using Form = std::vector<std::pair<std::string, std::string>>;

class Client {
 public:
  virtual ~Client() = default;
  // UNAVAILABLE (ISSUER_UNREACHABLE): no answer, too late or too long a one, or a certificate that is not good.
  // INVALID_ARGUMENT (BAD_URL): not a safe place. An answer of any status is a success.
  virtual Result<Answer> Get(const std::string& url) = 0;
  virtual Result<Answer> Post(const std::string& url, const Form& form) = 0;
};

// The real one. Also FAILED_PRECONDITION (NO_LIBCURL): the library is not installed.
class CurlClient : public Client {
 public:
  Result<Answer> Get(const std::string& url) override;
  Result<Answer> Post(const std::string& url, const Form& form) override;
};

// A document to a place that an operator named. What its name resolves to is not looked at: who may write the policy
// may send there.
struct JsonPost {
  std::string url;
  std::string body;                                          // kPostBytesMax at most
  std::vector<std::pair<std::string, std::string>> headers;  // beside Content-Type: application/json
};
// As CurlClient::Post, but UNAVAILABLE is NO_ANSWER. Ends soon when `stopping` becomes true.
Result<Answer> PostJson(const JsonPost& post, const std::atomic<bool>& stopping);

// "a=b&c=d", percent-encoded.
std::string Encoded(const Form& form);

}  // namespace glim::https
