#include "scheduler/server/clients/enrol_service.h"

#include "scheduler/server/door/call.h"

namespace glim::server {

EnrolService::EnrolService(Door* door, Enrolment* enrolment) : door_(door), enrolment_(enrolment) {}

EnrolService::~EnrolService() = default;

grpc::ServerUnaryReactor* EnrolService::Enrol(grpc::CallbackServerContext* context, const v1::EnrolRequest* request,
                                              v1::EnrolResponse* response) {
  Call* const call = Call::Open(door_, context, "EnrolApi/Enrol", *request);
  if (!call->admitted()) return call;
  enrolment_->Enrol(*request, call->caller().peer, [call, response](const Result<v1::EnrolResponse>& answer) {
    if (answer.ok()) *response = *answer;
    call->Answer(answer.status(), response);
  });
  return call;
}

}  // namespace glim::server
