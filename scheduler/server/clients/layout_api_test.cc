// Pools, zones and links by LayoutApi: what is listed, what a change of rows answers, and what is refused.
#include <gmock/gmock.h>

#include "glim/v1/layout_api.grpc.pb.h"
#include "scheduler/server/testing/client_fixture.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LayoutApiTest : public ClientApiTest {
 protected:
  void SetUp() override {
    ClientApiTest::SetUp();
    layout_ = v1::LayoutApi::NewStub(channel_);
  }
  v1::ListLayoutResponse List() {
    grpc::ClientContext context;
    SetUser(&context, "ora");
    v1::ListLayoutResponse response;
    const grpc::Status status = layout_->ListLayout(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Change(const v1::ChangeRowsRequest& request, v1::ChangeRowsResponse* response = nullptr) {
    grpc::ClientContext context;
    SetUser(&context, "ora");
    v1::ChangeRowsResponse unread;
    return layout_->ChangeRows(&context, request, response ? response : &unread);
  }
  static v1::ChangeRowsRequest Pool(const std::string& name, bool remove = false) {
    v1::ChangeRowsRequest request;
    request.add_changes()->mutable_pool()->set_name(name);
    request.mutable_changes(0)->set_remove(remove);
    return request;
  }
  static void AddLink(v1::ChangeRowsRequest* request, const std::string& a, const std::string& b, int jobs) {
    v1::LayoutLink* const link = request->add_changes()->mutable_link();
    link->set_zone_a(a);
    link->set_zone_b(b);
    link->set_jobs_max(jobs);
    link->set_pairs_max(jobs);
  }
  std::unique_ptr<v1::LayoutApi::Stub> layout_;
};

std::vector<std::string> Diffs(const v1::ChangeRowsResponse& response) {
  std::vector<std::string> rows;
  for (const v1::RowDiff& row : response.rows()) {
    rows.push_back(row.object() + " '" + row.before() + "' '" + row.after() + "'");
  }
  return rows;
}

TEST_F(LayoutApiTest, RowsAreTriedThenSetListedAndTakenAway) {
  const v1::ListLayoutResponse before = List();
  ASSERT_EQ(before.pools_size(), 1) << "that of the nodes";
  EXPECT_FALSE(before.pools(0).has_row());
  EXPECT_GT(before.pools(0).nodes(), 0u);

  v1::ChangeRowsRequest request = Pool("h100");
  request.mutable_changes(0)->mutable_pool()->set_note("to come");
  request.set_dry_run(true);
  v1::ChangeRowsResponse answer;
  ASSERT_TRUE(Change(request, &answer).ok());
  EXPECT_THAT(Diffs(answer), ElementsAre("pool h100 '' 'note 'to come''"));
  EXPECT_EQ(List().pools_size(), 1) << "nothing has changed";

  request.set_dry_run(false);
  ASSERT_TRUE(Change(request, &answer).ok());
  const v1::ListLayoutResponse after = List();
  ASSERT_EQ(after.pools_size(), 2);
  EXPECT_EQ(after.pools(1).name(), "h100");
  EXPECT_EQ(after.pools(1).note(), "to come");
  EXPECT_TRUE(after.pools(1).has_row());
  answer.Clear();
  ASSERT_TRUE(Change(request, &answer).ok());
  EXPECT_EQ(answer.rows_size(), 0) << "they are so already";
  ASSERT_TRUE(Change(Pool("h100", true)).ok());
  EXPECT_EQ(List().pools_size(), 1);
}

TEST_F(LayoutApiTest, ManyRowsAreOneChangeAndWhatOneDeclaresTheNextMayName) {
  v1::ChangeRowsRequest request;
  request.add_changes()->mutable_zone()->set_name("C");
  request.add_changes()->mutable_zone()->set_name("D");
  AddLink(&request, "D", "C", 2);
  v1::AccountQuota* const quota = request.add_changes()->mutable_quota();
  quota->set_of("everybody");
  quota->set_priority("high");
  quota->set_pool("nowhere");
  quota->set_nodes(4);
  grpc::Status status = Change(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(status).reason(), "NO_SUCH_POOL");
  EXPECT_THAT(status.error_message(), HasSubstr("changes[3]"));
  EXPECT_TRUE(List().links().empty()) << "all or none";

  quota->set_pool("*");
  v1::ChangeRowsResponse answer;
  ASSERT_TRUE(Change(request, &answer).ok());
  EXPECT_THAT(Diffs(answer), ElementsAre("zone C '' 'no note'", "zone D '' 'no note'", "link C/D '' '2 jobs, 2 pairs'",
                                         "quota everybody//*/high '' '4 nodes'"));
  EXPECT_THAT(answer.meaning(), HasSubstr("zones without a link are not crossed"));
  EXPECT_EQ(List().links(0).zone_a(), "C");
}

TEST_F(LayoutApiTest, WhatIsWrongIsRefusedWithFieldAndFix) {
  struct Row {
    v1::ChangeRowsRequest request;
    const char* field;
    const char* reason;
  };
  v1::ChangeRowsRequest unknown, itself, far, nothing, none;
  AddLink(&unknown, "Z", "Y", 1);
  AddLink(&itself, "Z", "Z", 1);
  itself.add_changes()->mutable_zone()->set_name("Z");
  std::swap(*itself.mutable_changes(0), *itself.mutable_changes(1));
  far.add_changes()->mutable_link()->set_zone_a("A");
  nothing.add_changes();
  const Row rows[] = {
      {none, "changes", ""},  {nothing, "row", ""},        {unknown, "zone_a", "NO_SUCH_ZONE"},
      {itself, "zone_b", ""}, {Pool("a 100"), "pool", ""}, {Pool("a100", true), "pool", "NO_SUCH_LAYOUT"}};
  for (const Row& row : rows) {
    const grpc::Status status = Change(row.request);
    EXPECT_FALSE(status.ok()) << row.field;
    EXPECT_EQ(DetailOf(status).field(), row.field) << status.error_message();
    if (*row.reason != 0) {
      EXPECT_EQ(DetailOf(status).reason(), row.reason);
    }
    EXPECT_FALSE(DetailOf(status).fix().empty()) << status.error_message();
  }
  const std::string pool = List().pools(0).name();
  ASSERT_TRUE(Change(Pool(pool)).ok());
  const grpc::Status used = Change(Pool(pool, true));
  EXPECT_EQ(used.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(used.error_message(), HasSubstr("is in use: node"));
}

TEST_F(LayoutApiTest, WhatWasShownIsWhatIsChanged) {
  v1::ChangeRowsRequest request = Pool("h100");
  request.set_dry_run(true);
  v1::ChangeRowsResponse shown;
  ASSERT_TRUE(Change(request, &shown).ok());
  ASSERT_TRUE(Change(Pool("h100")).ok()) << "somebody else";
  request.set_dry_run(false);
  request.set_expect(shown.state());
  const grpc::Status late = Change(request);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(DetailOf(late).reason(), "CHANGED_MEANWHILE");
}

}  // namespace
}  // namespace glim::server
