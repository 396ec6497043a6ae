// EnrolApi: the one call that needs no token of a user.
#pragma once

#include "glim/v1/enrol_api.grpc.pb.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/nodes/enrolment.h"

namespace glim::server {

class EnrolService final : public v1::EnrolApi::CallbackService {
 public:
  // Both outlive the service.
  EnrolService(Door* door, Enrolment* enrolment);
  ~EnrolService() override;

  grpc::ServerUnaryReactor* Enrol(grpc::CallbackServerContext* context, const v1::EnrolRequest* request,
                                  v1::EnrolResponse* response) override;

 private:
  Door* const door_;
  Enrolment* const enrolment_;
};

}  // namespace glim::server
