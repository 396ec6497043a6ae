// Caller: who asks, as the door has found out, and the one place that says whose a job is.
//
// Values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/roles.h"
#include "scheduler/core/model/rows.h"

namespace glim::server {

struct Caller {
  std::string user;                        // empty: nobody who could be told
  core::Role role = core::Role::kNone;     // in force for this call: a login's or job's token is never an operator's
  std::vector<std::string> admin_of;       // teams
  core::Scope scope = core::Scope::kRead;  // of the token
  std::string token;                       // its id; empty: none
  core::TokenOrigin origin = core::TokenOrigin::kPersonal;
  TimePoint expires_at;     // of the token; 0: never
  std::string made_by;      // of the token: a user, or the node with the login socket
  core::AttemptId attempt;  // of a job's own token
  std::string peer;         // PeerHost
  bool by_name = false;     // plaintext mode: nothing has been proven, and all jobs are shown

  bool IsOperator() const { return role >= core::Role::kOperator; }
  bool IsAdmin() const { return role >= core::Role::kAdmin; }
  // A job's own token.
  bool IsJob() const { return origin == core::TokenOrigin::kJob; }
};

// Whether the job is the caller's own: of a job's token that job and those that it submitted.
bool Owns(const Caller& caller, const core::Job& job);

// Whether the caller may see all of the job and stop it: its owner, an admin of its team, operators.
bool HasRight(const Caller& caller, const core::Job& job);
// The same of a job whose row is gone. A job's token has no such job.
bool HasRight(const Caller& caller, std::string_view user, std::string_view team);

// The role that counts: what the registry says, capped by how a token came to be. An admin of a team counts as such.
core::Role RoleInForce(const core::User& user, core::TokenOrigin origin);
// And by who made it: one that somebody else has handed out is an operator's or an admin's only while its maker is one,
// or who can make tokens for a user would only have to wait until that user is an admin.
core::Role RoleInForce(const core::Accounts& accounts, const core::User& user, const core::TokenRow& token);

}  // namespace glim::server
