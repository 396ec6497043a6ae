// ReserveApi: nodes for a team, or for nobody. Handlers check and post; whom a reservation would hit is tried by the
// adviser on a copy of the snapshot, and a dry run asks the core and changes nothing.
#pragma once

#include "glim/v1/reserve_api.grpc.pb.h"
#include "scheduler/core/model/event.h"
#include "scheduler/server/clients/adviser.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class ReserveService final : public v1::ReserveApi::CallbackService {
 public:
  // All outlive the service.
  ReserveService(SchedulerLoop* loop, Adviser* adviser, Door* door);
  ~ReserveService() override;

  grpc::ServerUnaryReactor* SetReservation(grpc::CallbackServerContext* context,
                                           const v1::SetReservationRequest* request,
                                           v1::SetReservationResponse* response) override;
  grpc::ServerUnaryReactor* RemoveReservation(grpc::CallbackServerContext* context,
                                              const v1::RemoveReservationRequest* request,
                                              v1::RemoveReservationResponse* response) override;
  grpc::ServerUnaryReactor* ListReservations(grpc::CallbackServerContext* context,
                                             const v1::ListReservationsRequest* request,
                                             v1::ListReservationsResponse* response) override;

 private:
  void Set(Call* call, core::SetReservation event, const std::string& expect, v1::SetReservationResponse* response);

  SchedulerLoop* loop_;
  Adviser* adviser_;
  Door* door_;
};

}  // namespace glim::server
