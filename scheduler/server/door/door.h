// Door: where every call comes in. It finds out who asks, counts the call against the caller's bounds, and asks the
// table (permissions.h) and the job's owner whether it may be; what is denied is written into the audit trail. No
// handler runs before it: Call::Open and AdmitStream (call.h) go through Enter.
//
// With tokens the caller is the token's user. In plaintext mode the caller is who the metadata `glim-user` says, with
// role admin: nothing is proven there.
//
// Thread-safe. The loop, the limits and the observer (may be null) outlive the door, the door what it has admitted.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/server/door/call_observer.h"
#include "scheduler/server/door/caller.h"
#include "scheduler/server/door/denials.h"
#include "scheduler/server/door/permissions.h"
#include "scheduler/server/limits/caller_limits.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class Door {
 public:
  enum class Mode : std::uint8_t { kTokens, kPlaintext };

  Door(SchedulerLoop* loop, CallerLimits* limits, Mode mode, CallObserver* observer)
      : loop_(loop), limits_(limits), mode_(mode), observer_(observer) {}

  struct Entry {
    Caller caller;
    Admission admission;
    core::JobId job;        // that the request is about; 0: none
    bool by_right = false;  // it is another's: an operator's or a team admin's right lets the caller in
    Status denied;          // not Ok: the call was counted, and must be refused with this
  };
  // RESOURCE_EXHAUSTED of the limits comes as the Result's status; UNAUTHENTICATED (NO_TOKEN, BAD_TOKEN, TOKEN_EXPIRED,
  // USER_DISABLED; NO_USER in plaintext mode) and PERMISSION_DENIED (ROLE, SCOPE, NOT_YOURS, JOB_TOKEN) as `denied`,
  // audited already. `more`: what the call takes of the bounds.
  Result<Entry> Enter(const grpc::CallbackServerContext& context, Method method,
                      const google::protobuf::Message& request, const CallerLimits::Amounts& more);

  // Whether a stream that was let in might still be: its caller, with the rights of now. `job` 0: of no single one.
  Status StillAllowed(const Caller& caller, const Permission& row, core::JobId job) const;

  // Of a call whose event is about to be applied, by the rights of now: none of those that it came in with may be gone.
  Status MayStill(const Caller& caller, const Permission& row, core::JobId job) const;

  // Of a call that a handler has found to be denied, after Enter let it in: audited, at a bounded rate. Also for the
  // doors of others (agents'): `note` says what is known of the caller.
  void Denied(AuditNote note, const Status& status);

  // When the token was last used, as far as that is not in its row yet; 0: not.
  TimePoint LastUsed(const std::string& token) const;

  // Whether the metadata `authorization` has a token that counts.
  bool Counts(std::string_view authorization) const;

  // Told of each call whose token counts, before the bounds are looked at. Set before there are calls.
  using OnProven = std::function<void(const grpc::ServerContextBase& context, const std::string& user)>;
  void set_on_proven(OnProven on_proven) { on_proven_ = std::move(on_proven); }

  // What the gateway in this process shows with the address of those for whom it calls. Set before there are calls;
  // without a key nobody calls for others.
  void set_gateway_key(std::string key) { gateway_key_ = std::move(key); }

  Mode mode() const { return mode_; }
  SchedulerLoop& loop() const { return *loop_; }
  CallObserver* observer() const { return observer_; }

 private:
  Status Authenticate(const grpc::CallbackServerContext& context, const Permission& row, const Snapshot& snapshot,
                      Caller* caller) const;
  // Who the caller's token makes them now, and whether that still is enough for the row and the job.
  Status CheckAgain(const Caller& caller, const Permission& row, core::JobId job, Caller* now) const;
  void Used(const std::string& token);

  SchedulerLoop* const loop_;
  CallerLimits* const limits_;
  const Mode mode_;
  CallObserver* const observer_;
  OnProven on_proven_;
  std::string gateway_key_;
  DenialRate denials_;
  mutable std::mutex mutex_;               // guards what follows
  std::map<std::string, TimePoint> used_;  // tokens' last use that is not written yet
  TimePoint written_at_;
};

// How the audit trail names the caller of a method.
AuditNote NoteOf(const Caller& caller, const Permission& row, std::string object = {});

// PERMISSION_DENIED, with what to do.
Status PermissionDenied(std::string reason, std::string message, std::string fix);
// The same with NOT_YOURS.
Status NotYours(core::JobId job, const Caller& caller);

}  // namespace glim::server
