// Gateway: the scheduler's HTTP port: the API for scripts and the dashboard, beside gRPC and by the same rights.
//
// Has two threads of its own. Start and Stop from one thread; Stop is idempotent, and before the channel's server is
// shut down.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/gateway/backend.h"
#include "scheduler/gateway/connection.h"
#include "scheduler/gateway/holdings.h"
#include "scheduler/gateway/sse_sink.h"
#include "sdk/base/result.h"

namespace glim::gateway {

// What is shown at a handshake. `version` holds the texts, and is another one when they are.
struct ShownCertificate {
  std::shared_ptr<const void> version;
  const std::string* key = nullptr;    // PEM
  const std::string* chain = nullptr;  // PEM
};

class Gateway {
 public:
  struct Options {
    std::string address;  // host:port; port 0: the system chooses
    bool identity = true;
    std::function<ShownCertificate()> certificate;  // null: plaintext
    std::vector<std::string> names;                 // by which the server is reached
    std::string web_root;                           // empty: no pages
    Backend::Forward forward;
    StreamRoutes* streams = nullptr;  // outlives the gateway; null: none
    HoldingBounds bounds;
    ConnectionTimes times;
  };

  // Serves when this returns Ok. UNAVAILABLE (BIND_FAILED); INVALID_ARGUMENT (BAD_WEB_ROOT).
  static Result<std::unique_ptr<Gateway>> Start(Options options, std::shared_ptr<grpc::Channel> channel);
  ~Gateway();

  int port() const;
  // For tests and figures.
  std::size_t connections() const;
  std::size_t bytes_held() const;
  void Stop();

 private:
  Gateway();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace glim::gateway
