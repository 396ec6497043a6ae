// Call: one unary call, from the door until its answer has been taken. What it holds of its caller's bounds
// (limits/caller_limits.h), its request's and its answer's bytes among it, is given back only then: who asks and does
// not read the answers is refused more.
//
// Owns itself until OnDone. Answer is called once, by any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>

#include "scheduler/server/door/door.h"

namespace glim::server {

class Call final : public grpc::ServerUnaryReactor {
 public:
  // Answers at once what is refused: then it has not been admitted, and is returned as it is. `method` is its row,
  // "ClientApi/Cancel"; `more`: what the call takes of the bounds beside itself.
  static Call* Open(Door* door, grpc::CallbackServerContext* context, Method method,
                    const google::protobuf::Message& request, CallerLimits::Amounts more = {});

  bool admitted() const { return admitted_; }
  const Caller& caller() const { return caller_; }
  const std::string& user() const { return caller_.user; }
  // The request's job is another's, and the caller may all the same.
  bool by_right() const { return by_right_; }

  // For the audit trail: who asks and what; before and after in words that name no secret.
  AuditNote Note(std::string object, std::string before = {}, std::string after = {}) const;

  // `response` is the call's own, and counts if the status is Ok. The call may be gone when this returns.
  void Answer(const Status& status, const google::protobuf::Message* response = nullptr);
  Call* Refuse(const Status& status) {
    Answer(status);
    return this;
  }
  // Refuse, told to the audit trail: a right is missing that only the handler could find out.
  Call* Deny(const Status& status, std::string object);

  void OnDone() override;

 private:
  Call(Door* door, Method method) : door_(door), method_(method) {}
  Door* const door_;
  const Method method_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Caller caller_;
  Admission admission_;
  bool admitted_ = false;
  bool by_right_ = false;
  StatusCode answered_ = StatusCode::kOk;
  core::JobId job_;
};

// A stream that was let in, and by whom.
struct StreamEntry {
  Caller caller;
  Admission admission;
  const Permission* row = nullptr;  // never null
  core::JobId job;                  // that it is about; 0: none
};

// Of a stream: as Call::Open does, for one more log or list of events that is read.
Result<StreamEntry> AdmitStream(Door* door, const grpc::CallbackServerContext& context, Method method,
                                const google::protobuf::Message& request);

}  // namespace glim::server
