// Reservations, in the fake scheduler: a change notes the request and answers as if it had been done.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/reserve_api.grpc.pb.h"

namespace glim::cli {

class FakeReserveCalls : public glim::v1::ReserveApi::Service {
 public:
  explicit FakeReserveCalls(FakeDesk* owner) : owner_(owner) {}

  grpc::Status SetReservation(grpc::ServerContext* context, const glim::v1::SetReservationRequest* request,
                              glim::v1::SetReservationResponse* response) override;
  grpc::Status RemoveReservation(grpc::ServerContext* context, const glim::v1::RemoveReservationRequest* request,
                                 glim::v1::RemoveReservationResponse* response) override;
  grpc::Status ListReservations(grpc::ServerContext* context, const glim::v1::ListReservationsRequest* request,
                                glim::v1::ListReservationsResponse* response) override;

 private:
  FakeDesk* owner_;
};

}  // namespace glim::cli
