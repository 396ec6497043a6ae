// Break-glass, with a scheduler that runs and without, and what a lost key file costs.
#include "scheduler/server/break_glass.h"

#include <gmock/gmock.h>

#include "scheduler/server/listen/first_start.h"
#include "scheduler/server/testing/identity_server.h"
#include "scheduler/store/open_store.h"
#include "sdk/io/write_file.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class BreakGlassTest : public IdentityTest {};

TEST_F(BreakGlassTest, WithoutItsKeyFileItDoesNotStart) {
  server_.reset();
  const std::string key = TextOf("cluster.key");
  std::filesystem::remove(folder_ / "cluster.key");
  const auto lost = Server::Start(config_, [](const Status&) {});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.status().reason(), "KEY_FILE_LOST");
  EXPECT_EQ(lost.status().field(), "key_file");
  EXPECT_THAT(lost.status().fix(), HasSubstr("--new-keys"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cluster.key")) << "no new one is made";
  EXPECT_EQ(RunBreakGlass(config_, {}).status().reason(), "KEY_FILE_LOST");

  std::string other = key;
  other[0] = other[0] == '0' ? '1' : '0';
  ASSERT_TRUE(WriteFileAtomically(config_.key_file, other, Durability::kProcess).ok());
  EXPECT_EQ(Server::Start(config_, [](const Status&) {}).status().reason(), "OTHER_KEY_FILE");
  ASSERT_TRUE(WriteFileAtomically(config_.key_file, key, Durability::kProcess).ok());
  StartServer();
  EXPECT_EQ(WhoIs(admin_token()).role(), "admin");
}

// On another host, of the same database: who could not serve must not end the leader that there is.
TEST_F(BreakGlassTest, WhoHasAnotherKeyFileTakesNoEpoch) {
  const auto newest = [&] { return *(*store::OpenStore(config_.store))->NewestEpoch(); };
  server_.reset();
  const std::uint64_t before = newest();
  Config second = config_;
  second.key_file = folder_ / "other.key";
  EXPECT_EQ(Server::Start(second, [](const Status&) {}).status().reason(), "KEY_FILE_LOST");
  std::string other = TextOf("cluster.key");
  other[0] = other[0] == '0' ? '1' : '0';
  ASSERT_TRUE(WriteFileAtomically(second.key_file, other, Durability::kProcess).ok());
  EXPECT_EQ(Server::Start(second, [](const Status&) {}).status().reason(), "OTHER_KEY_FILE");
  EXPECT_EQ(newest(), before);
  StartServer();
  EXPECT_GT(server_->snapshot()->epoch, before);
}

TEST_F(BreakGlassTest, ALostKeyFileCostsNodesAndSecretsButNoTokens) {
  const std::string token = admin_token();
  const TestNode node = MustEnrol("node-1");
  v1::InviteNodeRequest invite;
  invite.set_node("node-2");
  const std::string invitation = MustInvite(invite).token();
  server_.reset();
  std::filesystem::remove(folder_ / "cluster.key");
  BreakGlass order;
  order.new_keys = true;
  const auto forgotten = RunBreakGlass(config_, order);
  ASSERT_TRUE(forgotten.ok()) << forgotten.status().message();
  StartServer();
  EXPECT_EQ(WhoIs(token).role(), "admin");
  FakeAgent agent(ConnectAgent(&node), HelloOf(node));
  EXPECT_FALSE(agent.WaitWelcome()) << "its certificate is of the authority that is gone";
  TestNode invited{"node-2", "machine-of-node-2"};
  EXPECT_EQ(DetailOf(Enrol(invitation, &invited)).reason(), "BAD_INVITATION") << "nor does what it gave out count";
}

TEST_F(BreakGlassTest, BreakGlassAsksTheSchedulerThatRuns) {
  const auto token = RunBreakGlass(config_, {});
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_NE(*token, admin_token());
  const v1::WhoAmIResponse who = WhoIs(*token);
  EXPECT_EQ(who.role(), "admin");
  EXPECT_GT(who.expires_at_ms(), 0);
  EXPECT_EQ(Audit("break-glass").back().object(), "user " + OwnUserName());
  BreakGlass other;
  other.user = "oda";
  const auto made = RunBreakGlass(config_, other);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(WhoIs(*made).user(), "oda") << "whose account was made";
  other.user = "no/name";
  EXPECT_FALSE(RunBreakGlass(config_, other).ok());
}

TEST_F(BreakGlassTest, BreakGlassOpensAStoreThatNobodyHas) {
  server_.reset();
  const auto token = RunBreakGlass(config_, {});
  ASSERT_TRUE(token.ok()) << token.status().message();
  StartServer();
  EXPECT_EQ(WhoIs(*token).role(), "admin");
}

TEST_F(BreakGlassTest, APlaintextSchedulerHasNoBreakGlass) {
  Config plain = config_;
  plain.insecure_without_identity = true;
  EXPECT_EQ(RunBreakGlass(plain, {}).status().reason(), "NO_IDENTITY");
  Config postgres = config_;
  postgres.store = "postgres:service=nobody";
  postgres.state_dir = (folder_ / "elsewhere").string();
  EXPECT_EQ(RunBreakGlass(postgres, {}).status().reason(), "OTHER_LEADER");
}

}  // namespace
}  // namespace glim::server
