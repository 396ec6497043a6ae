// SecretAffairs: what users do with their secrets: set, list, remove. Whoever asks has their own alone; a value goes
// in, sealed for its row, and comes out in the user's tasks (launch_secrets.h) and nowhere else.
//
// Any thread; answers come once, from the caller's thread or from the loop's. Loop and source outlive it.
#pragma once

#include <functional>
#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/secrets/launch_secrets.h"

namespace glim::server {

class SecretAffairs {
 public:
  template <typename Answer>
  using Done = std::function<void(const Result<Answer>&)>;

  SecretAffairs(SchedulerLoop* loop, const SecretSource* source) : loop_(loop), source_(source) {}

  // `note` says who asks, from where, by which method; what of is filled in here, by name and length, never by value.
  // INVALID_ARGUMENT (name, value), RESOURCE_EXHAUSTED (TOO_MANY_SECRETS), FAILED_PRECONDITION (NO_IDENTITY).
  void Set(const std::string& user, const v1::SetSecretRequest& request, AuditNote note,
           Done<v1::SetSecretResponse> done);
  // NOT_FOUND (NO_SUCH_SECRET).
  void Remove(const std::string& user, const v1::RemoveSecretRequest& request, AuditNote note,
              Done<v1::RemoveSecretResponse> done);
  v1::ListSecretsResponse List(const std::string& user) const;

 private:
  SchedulerLoop* const loop_;
  const SecretSource* const source_;
};

}  // namespace glim::server
