// LoginAffairs: tokens for users of login hosts. The host's kernel told the uid, its agent asks over mutual TLS, and
// the registry says whose uid that is: what the host says of names does not count.
//
// Such a token is for half a day, and never more than a user's: an operator who needs more uses a token of their own.
// Any thread; answers come once, from the caller's thread or from the loop's. Loop and gate outlive it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"
#include "scheduler/server/nodes/attempt_rate.h"
#include "scheduler/server/nodes/enrolment.h"

namespace glim::server {

inline constexpr Duration kLoginTokenLife = Hours(12);
inline constexpr std::size_t kLoginTokensMax = 8;  // of one user and host at once; the oldest goes

// Who has this uid. PERMISSION_DENIED: NO_LOGIN_UID (root, and what namespaces show of users that they do not know),
// UNKNOWN_UID, AMBIGUOUS_UID, USER_DISABLED.
Result<core::User> UserOfUid(const core::Accounts& accounts, std::uint32_t uid);

class LoginAffairs {
 public:
  // `listen`: HOST:PORT of the users' port, for another machine.
  LoginAffairs(SchedulerLoop* loop, const AgentGate* gate, std::function<std::string()> listen)
      : loop_(loop), gate_(gate), listen_(std::move(listen)) {}

  // Refusals of AgentGate::CheckLogin and UserOfUid; RESOURCE_EXHAUSTED (LOGIN_RATE).
  void LoginUser(const AgentPeer& node, const v1::LoginUserRequest& request, const std::string& peer,
                 Answered<v1::LoginUserResponse> done);

 private:
  SchedulerLoop* const loop_;
  const AgentGate* const gate_;
  const std::function<std::string()> listen_;
  AttemptRate attempts_;  // by host and uid
};

}  // namespace glim::server
