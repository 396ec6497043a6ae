// CertificateRenewal: keeps the node's certificate good. It is renewed when two thirds of its time are over, and at
// once when the scheduler says that another authority signs nodes now; what the scheduler says of whom to trust is
// kept; and files that `glim-agent enrol` has written beside the running agent are taken.
//
// On the agent's loop; not thread-safe. Nothing of it touches tasks: whoever uses the credentials connects again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/identity/identity_folder.h"
#include "nodeagent/sync/stub_source.h"
#include "nodeagent/sync/unary_call.h"

namespace glim::nodeagent {

class CertificateRenewal {
 public:
  struct Times {
    std::chrono::milliseconds look{5'000};  // how often clock and files are looked at
    Duration retry = Minutes(1);            // after a failure
    Duration at_most = Hours(24 * 365);     // a certificate is renewed this long after it came, at the latest
  };
  struct Hooks {
    StubSource stub;
    std::function<TimePoint()> clock;                     // WallTime
    std::function<void(const NodeCredentials&)> renewed;  // they count from now on: connect again
  };

  CertificateRenewal(boost::asio::io_context& io, IdentityFolder folder, NodeCredentials credentials, Times times,
                     Hooks hooks);

  void Start();
  void Stop();
  // What a Welcome, or another answer, says of whom to trust. Empty: nothing.
  void OnAuthorities(const google::protobuf::RepeatedPtrField<std::string>& authorities);

 private:
  using Call = UnaryCall<v1::RenewCertificateRequest, v1::RenewCertificateResponse>;
  void Look();
  bool IsDue() const;
  void Renew();
  Status Take(v1::RenewCertificateResponse& response);
  void Failed(const std::string& why);
  void Count(NodeCredentials credentials);

  boost::asio::io_context& io_;
  const IdentityFolder folder_;
  const Times times_;
  const Hooks hooks_;
  NodeCredentials credentials_;
  std::uint64_t version_ = 0;
  TimePoint came_at_;
  TimePoint not_before_;  // of the next attempt
  std::string last_failure_;
  std::shared_ptr<Call> call_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

// Certificates as messages carry them (DER). INVALID_ARGUMENT: one is none; or there are none.
Result<std::vector<pki::Certificate>> ReadAuthorities(const google::protobuf::RepeatedPtrField<std::string>& der);

}  // namespace glim::nodeagent
