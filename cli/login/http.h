// Requests to an OpenID Connect issuer, by libcurl, which is loaded at the first one: few calls of `glim` need it.
// https, verified by the machine's own authorities; http to loopback alone. No redirects. Blocks; main thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

struct HttpAnswer {
  int status = 0;  // 200
  std::string body;
};

using Form = std::vector<std::pair<std::string, std::string>>;

class Http {
 public:
  virtual ~Http() = default;
  // UNAVAILABLE: no answer (`within` is over, the certificate is not good, a connection failed). INVALID_ARGUMENT
  // (BAD_URL): neither https nor http to loopback. An answer of any status is a success.
  virtual Result<HttpAnswer> Get(const std::string& url, Duration within) = 0;
  virtual Result<HttpAnswer> Post(const std::string& url, const Form& form, Duration within) = 0;
};

// The real one. FAILED_PRECONDITION (NO_LIBCURL): the library is not installed.
class CurlHttp : public Http {
 public:
  Result<HttpAnswer> Get(const std::string& url, Duration within) override;
  Result<HttpAnswer> Post(const std::string& url, const Form& form, Duration within) override;
};

// Whether a secret may be sent there: https, or http to 127.0.0.1, [::1] or localhost.
Status CheckUrl(const std::string& url);
// "a=b&c=d", percent-encoded.
std::string Encoded(const Form& form);

}  // namespace glim::cli
