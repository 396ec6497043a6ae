// Tokens, nodes' identities, sealed keys and secrets change by events, all or none, and go with what they belong to.
#include "scheduler/core/lifecycle/identity_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;

TokenRow Token(const std::string& id, const std::string& user) {
  TokenRow row;
  row.id = id;
  row.user = user;
  row.hash = std::string(64, 'a');
  return row;
}

Reply Change(Cluster& c, std::vector<IdentityChange> changes) { return c.Do(ChangeIdentity{std::move(changes), "op"}); }

struct Users : Cluster {
  Users() { Do(ChangeAccounts{{{User{"kim"}}, {User{"lee"}}}, "op"}); }
  const TokenRow* token(const std::string& id) { return state().identity().tokens.Find(id); }
};

TEST(IdentityRows, AreChangedAllOrNoneAndKept) {
  Users c;
  EXPECT_EQ(Change(c, {{Token("1", "kim")}, {Token("2", "nobody")}}).status.reason(), "NO_SUCH_ACCOUNT");
  EXPECT_EQ(c.token("1"), nullptr);
  const SealedRow ca{"ca", "\x01\xff"};
  ASSERT_TRUE(Change(c, {{Token("1", "kim")}, {ca}, {SecretRow{"kim", "hf", "x", 1}}}).status.ok());
  c.RestartScheduler();
  EXPECT_EQ(*c.token("1"), Token("1", "kim"));
  EXPECT_EQ(c.state().identity().sealed.Find("ca")->bytes, "\x01\xff");
  EXPECT_EQ(c.state().identity().secrets.Find({"kim", "hf"})->sealed, "x");
  EXPECT_EQ(c.state().identity().Find({"secret", "kim/hf"}), IdentityRow(SecretRow{"kim", "hf", "x", 1}));
}

// An invitation counts once: whoever comes second finds another row than the one that both had seen.
TEST(IdentityRows, AreComparedBeforeTheyAreSet) {
  Users c;
  NodeIdentity invited{"n9"};
  invited.invite_hash = std::string(64, 'b');
  ASSERT_TRUE(Change(c, {{invited, false, {}, true}}).status.ok());
  EXPECT_EQ(Change(c, {{invited, false, {}, true}}).status.reason(), "CHANGED_MEANWHILE");
  NodeIdentity enrolled = invited;
  enrolled.invite_hash.clear();
  enrolled.machine_id = "m9";
  enrolled.enrolled_at = c.now();
  ASSERT_TRUE(Change(c, {{enrolled, false, invited}}).status.ok());
  const Reply second = Change(c, {{enrolled, false, invited}});
  EXPECT_EQ(second.status.code(), StatusCode::kAborted);
  EXPECT_EQ(second.status.reason(), "CHANGED_MEANWHILE");
  EXPECT_EQ(Change(c, {{NodeIdentity{"n8"}, true, NodeIdentity{"n8"}}}).status.reason(), "CHANGED_MEANWHILE");
  EXPECT_TRUE(Change(c, {{NodeIdentity{"n8"}, true}}).status.ok()) << "what is gone may be removed";
}

// Each change is looked at as the ones before it leave the rows.
TEST(IdentityRows, OfOneEventAreSeenInTheirOrder) {
  Users c;
  TokenRow used = Token("1", "kim");
  used.note = "laptop";
  ASSERT_TRUE(Change(c, {{Token("1", "kim"), false, {}, true}, {used, false, Token("1", "kim")}}).status.ok());
  EXPECT_EQ(c.token("1")->note, "laptop");
}

TEST(IdentityRows, TellTheHistoryOfNodesAlone) {
  Users c;
  const std::size_t told = c.store().history().size();
  ASSERT_TRUE(Change(c, {{Token("1", "kim")}, {SecretRow{"kim", "hf", "x", 1}}}).status.ok());
  EXPECT_EQ(c.store().history().size(), told);
  NodeIdentity node{"n1"};
  node.enrolled_at = c.now();
  node.invited_by = "kim";
  ASSERT_TRUE(Change(c, {{node}}).status.ok());
  node.revoked = true;
  ASSERT_TRUE(Change(c, {{node}}).status.ok());
  EXPECT_EQ(c.Noted(HistoryKind::kNodeEnrolled), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRevoked), 1);
  EXPECT_EQ(c.store().history().back().node, NodeId(1)) << "a node of that name is registered";
  EXPECT_THAT(c.store().history().back().text, HasSubstr("by op"));
}

TEST(Tokens, LastUseIsWrittenAndNeverBringsOneBack) {
  Users c;
  ASSERT_TRUE(Change(c, {{Token("1", "kim")}}).status.ok());
  c.Do(TokensUsed{{{"1", TimePoint{500}}, {"1", TimePoint{400}}, {"gone", TimePoint{500}}}});
  EXPECT_EQ(c.token("1")->last_used_at, TimePoint{500});
  EXPECT_EQ(c.token("gone"), nullptr);
  const int commits = c.store().commits();
  c.Do(TokensUsed{{{"1", TimePoint{400}}}});
  EXPECT_EQ(c.store().commits(), commits) << "no time goes back";
}

TEST(Tokens, AndSecretsGoWithTheirUser) {
  Users c;
  ASSERT_TRUE(Change(c, {{Token("1", "kim")}, {Token("2", "lee")}, {SecretRow{"kim", "hf", "x", 1}}}).status.ok());
  c.Do(ChangeAccounts{{{User{"kim"}, true}}, "op"});
  EXPECT_EQ(c.token("1"), nullptr);
  EXPECT_NE(c.token("2"), nullptr);
  EXPECT_TRUE(c.state().identity().secrets.empty());
}

// Also the session that was opened from a session.
TEST(Tokens, OfABrowsersSessionGoWithTheOneThatItWasOpenedWith) {
  Users c;
  TokenRow session = Token("2", "kim"), next = Token("3", "kim"), other = Token("4", "kim");
  session.session_of = "1";
  next.session_of = "2";
  ASSERT_TRUE(Change(c, {{Token("1", "kim")}, {session}, {next}, {other}}).status.ok());
  ASSERT_TRUE(Change(c, {{Token("1", "kim"), true}}).status.ok());
  for (const char* gone : {"1", "2", "3"}) EXPECT_EQ(c.token(gone), nullptr) << gone;
  EXPECT_NE(c.token("4"), nullptr);
  EXPECT_EQ(c.state().RebuildIndex(), c.state().index());
}

TEST(Tokens, ThatExpiredAMonthAgoAreSwept) {
  Users c;
  TokenRow old = Token("1", "kim"), never = Token("2", "kim");
  old.expires_at = c.now() + Hours(1);
  ASSERT_TRUE(Change(c, {{old}, {never}}).status.ok());
  EXPECT_EQ(NextSweep(c.state()), old.expires_at + kExpiredTokenKept);
  c.SetNow(old.expires_at + kExpiredTokenKept - Milliseconds(1));
  c.Do(TimePassed{});
  EXPECT_NE(c.token("1"), nullptr);
  c.SetNow(old.expires_at + kExpiredTokenKept);
  c.Do(TimePassed{});
  EXPECT_EQ(c.token("1"), nullptr);
  EXPECT_NE(c.token("2"), nullptr);
  EXPECT_EQ(c.state().RebuildIndex(), c.state().index());
}

// Whoever stole its key may have made tokens for everybody.
TEST(Tokens, OfALoginHostGoWithIt) {
  for (const char* how : {"revoked", "taken away", "removed"}) {
    Users c;
    NodeIdentity host{"front"};
    host.login = true;
    host.serial = "1f";
    TokenRow of_host = Token("1", "kim"), of_other = Token("2", "kim");
    of_host.origin = of_other.origin = TokenOrigin::kLogin;
    of_host.made_by = LoginHostAsMaker("front");
    of_other.made_by = LoginHostAsMaker("front2");
    ASSERT_TRUE(Change(c, {{host}, {of_host}, {of_other}, {Token("3", "kim")}}).status.ok());
    host.serial = "20";
    ASSERT_TRUE(Change(c, {{host}}).status.ok());
    EXPECT_NE(c.token("1"), nullptr) << "a renewal is no farewell";
    host.revoked = how == std::string("revoked");
    const Reply gone = how == std::string("removed") ? c.Do(RemoveNode{"front"})
                                                     : Change(c, {{host, how == std::string("taken away")}});
    ASSERT_TRUE(gone.status.ok()) << gone.status.message();
    EXPECT_EQ(c.token("1"), nullptr) << how;
    EXPECT_NE(c.token("2"), nullptr);
    EXPECT_NE(c.token("3"), nullptr);
    EXPECT_EQ(c.state().RebuildIndex(), c.state().index());
  }
}

TEST(Tokens, OfAJobGoAtTheAttemptsEnd) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  TokenRow own = Token("1", "ann");
  own.origin = TokenOrigin::kJob;
  own.attempt = {job, 1};
  ASSERT_TRUE(Change(c, {{own}}).status.ok());
  EXPECT_EQ(c.state().index().job_tokens.at({job, 1}), std::set<std::string>{"1"});
  c.Finish(job);
  EXPECT_EQ(c.state().identity().tokens.Find("1"), nullptr);
  EXPECT_TRUE(c.state().index().job_tokens.empty());
  EXPECT_EQ(Change(c, {{own}}).status.reason(), "ATTEMPT_ENDED");
}

}  // namespace
}  // namespace glim::core
