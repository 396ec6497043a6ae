// Reservations by ReserveApi: what each answers, what a dry run leaves alone, and where they are seen.
#include <gmock/gmock.h>

#include <chrono>

#include "glim/v1/reserve_api.grpc.pb.h"
#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using ReserveStub = v1::ReserveApi::Stub;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class ReserveApiTest : public ClientApiTest {
 protected:
  void SetUp() override {
    ClientApiTest::SetUp();
    reserve_ = v1::ReserveApi::NewStub(channel_);
  }
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (ReserveStub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response, const std::string& user = "ora") {
    grpc::ClientContext context;
    SetUser(&context, user);
    return (reserve_.get()->*method)(&context, request, response);
  }
  static v1::SetReservationRequest ForAnHour(bool dry_run = false) {
    v1::SetReservationRequest request;
    request.set_dry_run(dry_run);
    v1::Reservation* const row = request.mutable_reservation();
    row->set_name("firmware");
    row->add_node_names("node-1");
    row->set_ends_at_ms(NowMs() + 3'600'000);
    row->set_reason("new firmware");
    return request;
  }
  v1::SetReservationResponse MustSet(const v1::SetReservationRequest& request) {
    v1::SetReservationResponse response;
    const grpc::Status status = Ask(&ReserveStub::SetReservation, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::ListReservationsResponse List() {
    v1::ListReservationsResponse response;
    EXPECT_TRUE(Ask(&ReserveStub::ListReservations, v1::ListReservationsRequest(), &response, "ana").ok());
    return response;
  }
  std::unique_ptr<ReserveStub> reserve_;
};

TEST_F(ReserveApiTest, OneIsTriedMadeShownAndTakenBack) {
  const v1::SetReservationResponse dry = MustSet(ForAnHour(true));
  EXPECT_FALSE(dry.has_before());
  EXPECT_EQ(dry.after().made_by(), "ora");
  EXPECT_EQ(List().reservations_size(), 0) << "nothing has changed";

  const v1::SetReservationResponse made = MustSet(ForAnHour());
  EXPECT_EQ(made.after().state(), "in_force");
  ASSERT_EQ(List().reservations_size(), 1);
  EXPECT_EQ(List().reservations(0).nodes(0), "node-1");
  ASSERT_EQ(GetNode("node-1").reserved_size(), 1);
  EXPECT_THAT(GetNode("node-1").reserved(0), HasSubstr("firmware: reserved for nobody from "));

  const std::uint64_t job = MustSubmit(Spec("waits"));
  const v1::Job waits = WaitJob(
      job, [](const v1::Job& j) { return j.blockers_size() > 1; }, "to be blocked");
  EXPECT_EQ(waits.blockers(1).kind(), "reserved");
  EXPECT_THAT(waits.blockers(1).message(), HasSubstr(" by ora: new firmware"));

  v1::SetReservationRequest longer = ForAnHour(true);
  longer.mutable_reservation()->set_reason("and a fan");
  EXPECT_EQ(MustSet(longer).before().reason(), "new firmware");

  v1::RemoveReservationRequest back;
  back.set_name("firmware");
  back.set_dry_run(true);
  v1::RemoveReservationResponse gone;
  ASSERT_TRUE(Ask(&ReserveStub::RemoveReservation, back, &gone).ok());
  EXPECT_EQ(gone.before().name(), "firmware");
  EXPECT_EQ(List().reservations_size(), 1);
  back.set_dry_run(false);
  ASSERT_TRUE(Ask(&ReserveStub::RemoveReservation, back, &gone).ok());
  WaitJob(
      job, [](const v1::Job& j) { return j.state() != "queued"; }, "to start");
  EXPECT_EQ(DetailOf(Ask(&ReserveStub::RemoveReservation, back, &gone)).reason(), "NO_SUCH_RESERVATION");
}

TEST_F(ReserveApiTest, WhoIsThereIsNamed) {
  const std::uint64_t job = MustSubmit(Spec("there"));
  WaitJob(
      job, [](const v1::Job& j) { return j.state() == "starting" || j.state() == "running"; }, "to have its node");
  v1::SetReservationRequest share = ForAnHour(true);
  share.mutable_reservation()->clear_node_names();
  share.mutable_reservation()->set_share(1);
  share.mutable_reservation()->set_pool(GetNode("node-1").labels().pool());
  share.mutable_reservation()->set_begins_at_ms(NowMs() + 60'000);
  for (const v1::SetReservationRequest& request : {ForAnHour(true), share}) {
    const v1::SetReservationResponse response = MustSet(request);
    ASSERT_EQ(response.jobs_size(), 1);
    EXPECT_EQ(response.jobs(0).job_id(), job);
  }
}

TEST_F(ReserveApiTest, ARefusalNamesTheField) {
  v1::SetReservationRequest request = ForAnHour();
  request.mutable_reservation()->set_ends_at_ms(1);
  v1::SetReservationResponse response;
  const grpc::Status status = Ask(&ReserveStub::SetReservation, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailOf(status).field(), "ends_at_ms");
  EXPECT_EQ(List().reservations_size(), 0);
}

TEST_F(ReserveApiTest, WhatWasShownIsWhatIsChanged) {
  const std::string seen = MustSet(ForAnHour(true)).state();
  v1::SetReservationRequest request = ForAnHour();
  request.mutable_reservation()->set_reason("mine");
  MustSet(request);
  request.set_expect(seen);
  request.mutable_reservation()->set_reason("late");
  v1::SetReservationResponse late;
  const grpc::Status status = Ask(&ReserveStub::SetReservation, request, &late);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(DetailOf(status).reason(), "CHANGED_MEANWHILE");
  EXPECT_EQ(List().reservations(0).reason(), "mine");

  v1::RemoveReservationRequest back;
  back.set_name("firmware");
  back.set_expect(seen);
  v1::RemoveReservationResponse taken;
  EXPECT_EQ(Ask(&ReserveStub::RemoveReservation, back, &taken).error_code(), grpc::StatusCode::ABORTED);
  back.set_expect(MustSet(ForAnHour(true)).state());
  EXPECT_TRUE(Ask(&ReserveStub::RemoveReservation, back, &taken).ok());
}

}  // namespace
}  // namespace glim::server
