// CertificateRenewal: keeps the node's certificate good. It is renewed, with a new key, when between two thirds and
// three quarters of its time are over, and at once when the scheduler says that another authority signs nodes now; what
// the scheduler says of whom to trust is kept, and whom it names no more is trusted no longer; and what
// `glim-agent enrol` has written beside the running agent is taken.
//
// On the agent's loop; not thread-safe. Nothing of it touches tasks: whoever uses the credentials connects again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/identity/identity_folder.h"
#include "nodeagent/identity/received_credentials.h"
#include "nodeagent/sync/stub_source.h"
#include "nodeagent/sync/unary_call.h"
#include "sdk/base/rng.h"

namespace glim::nodeagent {

class CertificateRenewal {
 public:
  struct Times {
    std::chrono::milliseconds look{5'000};  // how often clock and files are looked at
    Duration retry = Minutes(1);            // after a failure, up to twice that
    Duration at_most = Hours(24) * 365;     // a certificate is renewed this long after it came, at the latest
  };
  struct Hooks {
    StubSource stub;
    std::function<TimePoint()> clock;                     // WallTime; may be set back, or wrong by any time
    std::function<void(const NodeCredentials&)> renewed;  // they count from now on: connect again
  };

  // `seed`: another one on each node, so that thousands that were enrolled together do not renew together.
  CertificateRenewal(boost::asio::io_context& io, IdentityFolder folder, NodeCredentials credentials, Times times,
                     std::uint64_t seed, Hooks hooks);

  void Start();
  void Stop();
  // What a Welcome, or another answer, says of whom to trust. Empty: nothing.
  void OnAuthorities(const google::protobuf::RepeatedPtrField<std::string>& authorities);

 private:
  using Call = UnaryCall<v1::RenewCertificateRequest, v1::RenewCertificateResponse>;
  void Look();
  void TakeFile();
  bool IsDue() const;
  bool HasPassed(TimePoint since, Duration time) const;
  void RenewIfDue();
  void Renew();
  Status Take(const v1::RenewCertificateResponse& response, const pki::PrivateKey& key);
  Status Write(const NodeCredentials& next);
  void Failed(const std::string& why);
  void Count(NodeCredentials credentials);
  Duration Share(Duration whole);

  boost::asio::io_context& io_;
  const IdentityFolder folder_;
  const Times times_;
  const Hooks hooks_;
  NodeCredentials credentials_;
  std::uint64_t version_ = 0;
  bool is_ours_ = true;  // the file, to write: it was not removed, and no other node's was put there
  int enrolments_ = 0;   // identities that `enrol` brought
  TimePoint due_at_;
  TimePoint came_at_;     // what counts, or the start of this object
  bool renewed_ = false;  // in the life of this object
  bool unsaved_ = false;  // `authorities` are not those of the file
  TimePoint failed_at_;
  Duration pause_;  // from then to the next attempt
  Rng rng_;
  std::string last_failure_;
  std::shared_ptr<Call> call_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
