// OidcAffairs: tokens for users whom the OpenID Connect issuer has named. The issuer says a name, the registry whose it
// is: who is not registered gets nothing, and nobody is made a user by signing in.
//
// Any thread; answers come once, from the caller's thread, the verifier's or the loop's. The loop outlives it; Stop
// before the loop stops.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/oidc/verifier.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/attempt_rate.h"

namespace glim::server {

inline constexpr Duration kOidcTokenLife = Hours(12);
inline constexpr std::size_t kOidcTokensMax = 8;  // of one user at once; the oldest goes

class OidcAffairs {
 public:
  using Denied = std::function<void(AuditNote, const Status&)>;
  using Done = std::function<void(const Result<v1::LoginOidcResponse>&)>;

  // `verifier`: null where the configuration names no issuer. `denied` tells the audit trail.
  OidcAffairs(SchedulerLoop* loop, std::unique_ptr<oidc::Verifier> verifier, Denied denied)
      : loop_(loop), denied_(std::move(denied)), verifier_(std::move(verifier)) {}

  v1::GetLoginResponse Where() const;
  // `note` says from where, by which method. FAILED_PRECONDITION (NO_OIDC); RESOURCE_EXHAUSTED (LOGIN_RATE,
  // OVERLOADED); UNAUTHENTICATED (BAD_ID_TOKEN, ID_TOKEN_USED); UNAVAILABLE (ISSUER_UNREACHABLE); PERMISSION_DENIED
  // (NO_SUCH_USER, USER_DISABLED).
  void Login(const v1::LoginOidcRequest& request, AuditNote note, Done done);
  void Stop();

 private:
  void Verified(const Result<std::string>& name, AuditNote note, const Done& done);
  void Refuse(AuditNote note, const Status& status, const Done& done) const;

  SchedulerLoop* const loop_;
  const Denied denied_;
  AttemptRate attempts_;                            // by peer
  const std::unique_ptr<oidc::Verifier> verifier_;  // last: its thread uses the others
};

}  // namespace glim::server
