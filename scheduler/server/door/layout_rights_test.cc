// Who may look at the layout and change rows, by role, and what the audit trail says of it.
#include <gmock/gmock.h>

#include "glim/v1/layout_api.grpc.pb.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using Stub = v1::LayoutApi::Stub;

class LayoutRightsTest : public TokenServerTest {
 protected:
  void SetUp() override {
    TokenServerTest::SetUp();
    layout_ = v1::LayoutApi::NewStub(channel_);
  }
  // The reason of the refusal; empty: it came in.
  std::string Refusal(const std::string& user, const v1::ChangeRowsRequest& request) {
    v1::ChangeRowsResponse response;
    const grpc::Status status = Ask(layout_.get(), &Stub::ChangeRows, TokenOf(user), request, &response);
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? DetailOf(status).reason() : "";
  }
  std::unique_ptr<Stub> layout_;
};

TEST_F(LayoutRightsTest, EverybodyLooksAndOperatorsChange) {
  v1::ChangeRowsRequest request;
  request.add_changes()->mutable_pool()->set_name("a100");
  request.set_dry_run(true);
  for (const char* user : {"vera", "kim", "tess"}) EXPECT_EQ(Refusal(user, request), "ROLE") << user;
  for (const char* user : {"ora", "ada"}) EXPECT_EQ(Refusal(user, request), "") << user;
  v1::ListLayoutResponse layout;
  EXPECT_TRUE(Ask(layout_.get(), &Stub::ListLayout, TokenOf("vera"), v1::ListLayoutRequest(), &layout).ok());
}

TEST_F(LayoutRightsTest, AnOperatorMakesNobodyAnAdminAmongOtherRowsEither) {
  v1::ChangeRowsRequest request;
  request.add_changes()->mutable_pool()->set_name("a100");
  v1::AccountUser* const user = request.add_changes()->mutable_user();
  user->set_name("new");
  user->set_role("admin");
  EXPECT_EQ(Refusal("ora", request), "ROLE");
  v1::ListLayoutResponse layout;
  ASSERT_TRUE(Ask(layout_.get(), &Stub::ListLayout, TokenOf("ora"), v1::ListLayoutRequest(), &layout).ok());
  for (const v1::LayoutPool& pool : layout.pools()) EXPECT_NE(pool.name(), "a100");
  EXPECT_EQ(Refusal("ada", request), "");
}

TEST_F(LayoutRightsTest, TheTrailHasTheRowsBeforeAndAfterAndNoQuestion) {
  v1::ChangeRowsRequest request;
  v1::LayoutPool* const pool = request.add_changes()->mutable_pool();
  pool->set_name("a100");
  EXPECT_EQ(Refusal("ora", request), "");
  pool->set_note("the racks of spring");
  request.set_dry_run(true);
  EXPECT_EQ(Refusal("ora", request), "");
  request.set_dry_run(false);
  EXPECT_EQ(Refusal("ora", request), "");
  ASSERT_TRUE(Eventually([this] { return Audit("ora").entries_size() >= 2; }));
  const v1::ListAuditResponse trail = Audit("ora");
  ASSERT_EQ(trail.entries_size(), 2);
  EXPECT_THAT(trail.entries(1).method(), HasSubstr("LayoutApi/ChangeRows"));
  EXPECT_EQ(trail.entries(1).object(), "pool a100");
  EXPECT_EQ(trail.entries(1).before(), "no note");
  EXPECT_EQ(trail.entries(1).after(), "note 'the racks of spring'");
}

}  // namespace
}  // namespace glim::server
