#include "cli/testing/fake_reserve.h"

namespace glim::cli {

grpc::Status FakeReserveCalls::SetReservation(grpc::ServerContext* context,
                                              const glim::v1::SetReservationRequest* request,
                                              glim::v1::SetReservationResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (grpc::Status status = Enter(*context, state.state); !status.ok()) return status;
  if (!state->reservation_refusal.ok()) return state->reservation_refusal;
  state->reservations_set.push_back(*request);
  for (const glim::v1::Reservation& row : state->reservations) {
    if (row.name() == request->reservation().name()) *response->mutable_before() = row;
  }
  *response->mutable_after() = request->reservation();
  for (const glim::v1::Victim& victim : state->on_node) *response->add_jobs() = victim;
  return grpc::Status::OK;
}

grpc::Status FakeReserveCalls::RemoveReservation(grpc::ServerContext* context,
                                                 const glim::v1::RemoveReservationRequest* request,
                                                 glim::v1::RemoveReservationResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (grpc::Status status = Enter(*context, state.state); !status.ok()) return status;
  state->reservations_removed.push_back(*request);
  for (const glim::v1::Reservation& row : state->reservations) {
    if (row.name() == request->name()) *response->mutable_before() = row;
  }
  return grpc::Status::OK;
}

grpc::Status FakeReserveCalls::ListReservations(grpc::ServerContext* context, const glim::v1::ListReservationsRequest*,
                                                glim::v1::ListReservationsResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (grpc::Status status = Enter(*context, state.state); !status.ok()) return status;
  for (const glim::v1::Reservation& row : state->reservations) *response->add_reservations() = row;
  return grpc::Status::OK;
}

}  // namespace glim::cli
