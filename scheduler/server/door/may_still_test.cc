// Rights that were taken away between the door and the strand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "scheduler/server/door/door.h"
#include "scheduler/server/testing/obedient_store.h"

namespace glim::server {
namespace {

class MayStillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SchedulerLoop::Options options;
    options.clock = [] { return TimePoint{1'000'000}; };
    auto loop = SchedulerLoop::Open(std::move(options), std::make_unique<ObedientStore>(orders_, data_));
    ASSERT_TRUE(loop.ok()) << loop.status().message();
    loop_ = std::move(loop).value();
    loop_->Start();
    limits_ = std::make_unique<CallerLimits>(Bounds(), [] { return TimePoint{1'000'000}; });
    door_ = std::make_unique<Door>(loop_.get(), limits_.get(), Door::Mode::kTokens, nullptr);
    PutUser(core::Role::kOperator, {"vision", "speech"});
    core::TokenRow token;
    token.id = "0123456789abcdef";
    token.user = "ora";
    token.made_by = "ora";
    Call(core::ChangeIdentity{{{token}}, "ora"});
    caller_.user = "ora";
    caller_.token = token.id;
    caller_.role = core::Role::kOperator;
    caller_.scope = core::Scope::kAll;
    caller_.admin_of = {"vision", "speech"};
  }
  void PutUser(core::Role role, std::set<std::string> admin_of, bool disabled = false) {
    core::User row{"ora"};
    row.role = role;
    row.teams.assign(admin_of.begin(), admin_of.end());
    row.admin_of.assign(admin_of.begin(), admin_of.end());
    row.disabled = disabled;
    core::ChangeAccounts event;
    for (const char* team : {"vision", "speech"}) event.changes.push_back({core::Team{team}, false});
    event.changes.push_back({core::User{"ada", {}, core::Role::kAdmin}, false});  // ora is never the last one
    event.changes.push_back({row, false});
    Call(event);
  }
  void Call(SchedulerLoop::Payload what) {
    std::promise<core::Reply> answered;
    ASSERT_TRUE(loop_->Post(std::move(what), [&](const core::Reply& r) { answered.set_value(r); }).ok());
    const core::Reply reply = answered.get_future().get();
    ASSERT_TRUE(reply.status.ok()) << reply.status.message();
  }
  std::string Refusal(const char* method) const {
    return door_->MayStill(caller_, *FindPermission(method), {}).reason();
  }

  std::shared_ptr<ObedientStore::Orders> orders_ = std::make_shared<ObedientStore::Orders>();
  std::shared_ptr<store::MemoryData> data_ = std::make_shared<store::MemoryData>();
  std::unique_ptr<SchedulerLoop> loop_;
  std::unique_ptr<CallerLimits> limits_;
  std::unique_ptr<Door> door_;
  Caller caller_;
};

constexpr char kRevokeNode[] = "/glim.v1.AdminApi/RevokeNode";
constexpr char kSetSecret[] = "/glim.v1.ClientApi/SetSecret";

TEST_F(MayStillTest, NoneOfTheRightsOfThenMayBeGone) {
  EXPECT_EQ(Refusal(kRevokeNode), "");
  PutUser(core::Role::kAdmin, {"vision", "speech"});
  EXPECT_EQ(Refusal(kRevokeNode), "") << "more are no harm";
  PutUser(core::Role::kUser, {"vision", "speech"});
  EXPECT_EQ(Refusal(kRevokeNode), "ROLE");
  EXPECT_EQ(Refusal(kSetSecret), "RIGHTS_CHANGED") << "its handler may have gone by the role";
  PutUser(core::Role::kOperator, {"vision"});
  EXPECT_EQ(Refusal(kSetSecret), "RIGHTS_CHANGED");
  PutUser(core::Role::kOperator, {"vision", "speech"}, true);
  EXPECT_EQ(Refusal(kSetSecret), "USER_DISABLED");
}

TEST_F(MayStillTest, ARevokedTokensCallIsNone) {
  core::TokenRow row;
  row.id = caller_.token;
  Call(core::ChangeIdentity{{{row, true}}, "ada"});
  EXPECT_EQ(Refusal(kSetSecret), "BAD_TOKEN");
  EXPECT_EQ(Refusal("/glim.v1.ClientApi/LoginOidc"), "") << "which asks for none";
}

}  // namespace
}  // namespace glim::server
