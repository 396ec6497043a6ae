// The first start, the ones after it, and who may use the socket for break-glass.
#include "scheduler/server/listen/first_start.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/server/listen/control_socket.h"
#include "scheduler/server/listen/own_ids.h"
#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

class FirstStartTest : public IdentityTest {
 protected:
  unsigned ModeOf(const std::string& name) {
    struct stat info {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &info), 0) << name;
    return info.st_mode & 0777;
  }
};

TEST_F(FirstStartTest, WhoStartsItIsTheAdministrator) {
  const v1::WhoAmIResponse who = WhoIs(admin_token());
  EXPECT_EQ(who.user(), OwnUserName());
  EXPECT_EQ(who.role(), "admin");
  EXPECT_EQ(who.expires_at_ms(), 0);
  for (const char* file : {"operator/token", "operator/ca.pem", "cluster.key"}) {
    EXPECT_EQ(ModeOf(file), 0600u) << file;
  }
  EXPECT_EQ(ModeOf("operator"), 0700u);
  EXPECT_EQ(ModeOf("control.sock"), 0600u);
  EXPECT_THAT(Audit("first start"), ::testing::Not(::testing::IsEmpty()));
}

// As root or another of the system's users it is nobody in tasks: an operator says who.
TEST_F(FirstStartTest, TheAdministratorIsTheUserItRunsAs) {
  const core::User& row = server_->snapshot()->tables.accounts->users.at(OwnUserName());
  const std::optional<core::TaskUser> own = IdsOf(::geteuid());
  EXPECT_EQ(own.has_value(), ::geteuid() >= core::kOwnIdsFrom);
  EXPECT_EQ(row.uid.has_value(), own.has_value());
  if (!own) return;
  EXPECT_EQ(*row.uid, ::geteuid());
  EXPECT_EQ(row.gid, own->gid);
  EXPECT_EQ(row.groups, own->groups);
}

TEST(IdsOf, AreThoseOfTheUserDatabaseButForTheSystemsGroups) {
  const passwd* entry = nullptr;
  ::setpwent();
  do {
    entry = ::getpwent();
  } while (entry != nullptr && (entry->pw_uid < core::kOwnIdsFrom || core::IsNobodys(entry->pw_uid)));
  if (entry != nullptr) {  // where anybody has one
    const auto ids = IdsOf(entry->pw_uid);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(ids->uid, entry->pw_uid);
    for (const std::uint32_t group : ids->groups) EXPECT_GE(group, core::kOwnIdsFrom);
  }
  ::endpwent();
}

// A packaged scheduler runs as one: no job of such an administrator would start.
TEST(IdsOf, AreNothingOfUsersOfTheSystem) {
  const passwd* const daemon = ::getpwnam("daemon");
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(IdsOf(daemon->pw_uid), std::nullopt);
  EXPECT_EQ(IdsOf(999), std::nullopt);
  EXPECT_EQ(IdsOf(0), std::nullopt);
  EXPECT_EQ(IdsOf(65534), std::nullopt) << "nobody";
}

TEST_F(FirstStartTest, NothingOfItIsDoneTwice) {
  const std::string token = TextOf("operator/token"), authority = TextOf("operator/ca.pem"),
                    key = TextOf("cluster.key");
  RestartServer();
  EXPECT_EQ(TextOf("operator/token"), token);
  EXPECT_EQ(TextOf("operator/ca.pem"), authority);
  EXPECT_EQ(TextOf("cluster.key"), key);
  EXPECT_EQ(server_->snapshot()->tables.identity->tokens.size(), 1u);
  std::filesystem::remove(folder_ / "operator/token");
  RestartServer();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "operator/token")) << "whoever took it away meant it";
}

TEST_F(FirstStartTest, WhoHasNotTheKeyFileGetsNothingByTheSocket) {
  identity::ClusterKey::Bytes bytes{};
  const TimePoint now{
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
  EXPECT_EQ(AskControl(folder_.string(), identity::ClusterKey(bytes), "", now).status().reason(), "NO_KEY");
  const auto key = identity::ReadClusterKey(config_.key_file);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(AskControl(folder_.string(), *key, "", now - Hours(1)).status().reason(), "NO_KEY") << "an old proof";
  EXPECT_TRUE(AskControl(folder_.string(), *key, "", now).ok());
}

}  // namespace
}  // namespace glim::server
