#include "nodeagent/os/node_accounts.h"

#include <gtest/gtest.h>
#include <pwd.h>

namespace glim::nodeagent {
namespace {

constexpr uid_t kUnknown = 987'654'321;

std::string Fault(const std::string& name, uid_t uid, gid_t gid) { return AccountFault({name, uid, gid}, "n3"); }

TEST(NodeAccounts, WhoIsUnknownHereContradictsNothing) { EXPECT_EQ(Fault("nobody-of-that-name", kUnknown, 7), ""); }

// Of accounts that every Debian has.
TEST(NodeAccounts, ANameAUidAndAPrimaryGroupMeanTheSameHere) {
  const passwd* found = ::getpwnam("daemon");
  ASSERT_NE(found, nullptr);
  const uid_t uid = found->pw_uid;
  const gid_t gid = found->pw_gid;
  const std::string number = std::to_string(uid), group = std::to_string(gid);
  EXPECT_EQ(Fault("daemon", uid, gid), "");
  EXPECT_EQ(Fault("daemon", kUnknown, gid),
            "user daemon has uid 987654321 in the registry and " + number + " on node n3");
  EXPECT_EQ(Fault("daemon", uid, 7777), "user daemon has gid 7777 in the registry and " + group + " on node n3");
  EXPECT_EQ(Fault("kim", uid, gid), "uid " + number + " is kim in the registry and daemon on node n3");
}

}  // namespace
}  // namespace glim::nodeagent
