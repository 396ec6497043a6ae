#include "nodeagent/os/node_accounts.h"

#include <gtest/gtest.h>
#include <nss.h>
#include <pwd.h>
#include <sys/resource.h>

namespace glim::nodeagent {
namespace {

constexpr uid_t kUnknown = 987'654'321;

std::string Fault(const std::string& name, uid_t uid, gid_t gid) {
  const Result<std::string> fault = AccountFault({name, uid, gid}, "n3");
  return fault.ok() ? *fault : fault.status().message();
}

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

// Who cannot be looked up may be somebody else here.
TEST(NodeAccounts, WhatCannotBeReadContradictsUntilItCan) {
  ASSERT_EQ(::__nss_configure_lookup("passwd", "files"), 0);  // and no source after it that has nobody of that name
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<std::string> fault = AccountFault({"daemon", kUnknown, 7777}, "n3");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(fault.ok()) << *fault;
  EXPECT_EQ(fault.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(fault.status().message().find("this node's accounts cannot be read: "), 0u) << fault.status().message();
  EXPECT_NE(Fault("daemon", kUnknown, 7777), "");
}

}  // namespace
}  // namespace glim::nodeagent
