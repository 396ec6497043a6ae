// Budgets by AdminApi: what is answered, what a dry run leaves alone, and what the audit trail has.
#include <gmock/gmock.h>

#include "glim/v1/admin_api.grpc.pb.h"
#include "scheduler/server/testing/client_fixture.h"
#include "sdk/base/time.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class BudgetCallsTest : public ClientApiTest {
 protected:
  void SetUp() override {
    ClientApiTest::SetUp();
    admin_ = v1::AdminApi::NewStub(channel_);
    v1::ChangeAccountRequest team;
    team.mutable_team()->set_name("vision");
    team.mutable_team()->set_weight(100);
    v1::ChangeAccountResponse done;
    grpc::ClientContext context;
    SetUser(&context, "ora");
    ASSERT_TRUE(admin_->ChangeAccount(&context, team, &done).ok());
  }
  static v1::SetBudgetRequest OfVision(std::int64_t gpu_ms) {
    v1::SetBudgetRequest request;
    request.set_team("vision");
    request.set_gpu_ms_max(gpu_ms);
    return request;
  }
  grpc::Status Set(const v1::SetBudgetRequest& request, v1::SetBudgetResponse* response) {
    grpc::ClientContext context;
    SetUser(&context, "ora");
    response->Clear();
    return admin_->SetBudget(&context, request, response);
  }
  v1::ListBudgetsResponse List() {
    grpc::ClientContext context;
    SetUser(&context, "ana");
    v1::ListBudgetsResponse response;
    EXPECT_TRUE(admin_->ListBudgets(&context, v1::ListBudgetsRequest(), &response).ok());
    return response;
  }
  std::unique_ptr<v1::AdminApi::Stub> admin_;
};

TEST_F(BudgetCallsTest, OneIsTriedMadeShownChangedAndTakenAway) {
  v1::SetBudgetResponse response;
  v1::SetBudgetRequest request = OfVision(Hours(10).ms);
  request.set_dry_run(true);
  ASSERT_TRUE(Set(request, &response).ok());
  EXPECT_EQ(response.after().gpu_ms_max(), Hours(10).ms);
  EXPECT_EQ(List().budgets_size(), 0) << "nothing has changed";

  request.set_dry_run(false);
  request.set_expect(response.state());
  ASSERT_TRUE(Set(request, &response).ok());
  ASSERT_EQ(List().budgets_size(), 1);
  EXPECT_EQ(List().budgets(0).team(), "vision");
  EXPECT_EQ(List().budgets(0).used_gpu_ms(), 0);
  EXPECT_EQ(List().budgets(0).made_by(), "ora");

  const grpc::Status late = Set(request, &response);  // by what was seen before it was made
  EXPECT_EQ(late.error_code(), grpc::StatusCode::ABORTED);
  request = OfVision(0);
  request.set_remove(true);
  ASSERT_TRUE(Set(request, &response).ok());
  EXPECT_EQ(response.before().gpu_ms_max(), Hours(10).ms);
  EXPECT_FALSE(response.has_after());
  EXPECT_EQ(List().budgets_size(), 0);
}

TEST_F(BudgetCallsTest, WhatMakesNoSenseIsRefused) {
  v1::SetBudgetResponse response;
  v1::SetBudgetRequest request = OfVision(Hours(10).ms);
  request.set_remove(true);
  EXPECT_THAT(Set(request, &response).error_message(), HasSubstr("taken away and given at once"));
  EXPECT_FALSE(Set(OfVision(0), &response).ok());
  request = OfVision(1);
  request.set_team("no-team");
  EXPECT_THAT(Set(request, &response).error_message(), HasSubstr("there is no team no-team"));
}

}  // namespace
}  // namespace glim::server
