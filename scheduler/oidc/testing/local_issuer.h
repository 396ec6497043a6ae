// The issuer of tests as a server on loopback: its configuration and its keys, over plain http.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "sdk/io/unique_fd.h"

namespace glim::oidc::testing {

class LocalIssuer {
 public:
  // `keys`: a key set's text.
  explicit LocalIssuer(std::string keys);
  ~LocalIssuer();

  // "http://127.0.0.1:PORT"
  const std::string& url() const { return url_; }
  int requests() const { return requests_; }

 private:
  void Serve();
  const std::string keys_;
  std::string url_;
  UniqueFd listener_;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace glim::oidc::testing
