#include "nodeagent/confinement/account_files.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

const TaskAccount kAnn{{1000001, 1000002, {1000002, 44, 5000}}, "ann", "/tmp"};

TEST(PasswdWith, AUserOfTheRegistryHasItsName) {
  EXPECT_EQ(PasswdWith("root:x:0:0:root:/root:/bin/bash\n", kAnn),
            "root:x:0:0:root:/root:/bin/bash\nann:x:1000001:1000002::/tmp:/bin/bash\n");
}

TEST(PasswdWith, WhomTheNodeKnowsKeepsItsLine) {
  const std::string passwd = "kim:x:1000001:100::/home/kim:/bin/zsh\n";
  EXPECT_EQ(PasswdWith(passwd, kAnn), passwd);
}

TEST(PasswdWith, ANameIsNotGivenTwice) {
  EXPECT_EQ(PasswdWith("ann:x:7:7::/:/bin/sh", kAnn),
            "ann:x:7:7::/:/bin/sh\nglim-1000001:x:1000001:1000002::/tmp:/bin/bash\n");
}

TEST(PasswdWith, WhatWouldBeAnotherFieldIsNotWritten) {
  const TaskAccount odd{{5, 6, {}}, "a:b", "/tmp\nroot::0:0::/:"};
  EXPECT_EQ(PasswdWith("", odd), "glim-5:x:5:6::/:/bin/bash\n");
  const TaskAccount unnamed{{5, 6, {}}, "", "relative"};
  EXPECT_EQ(PasswdWith("", unnamed), "glim-5:x:5:6::/:/bin/bash\n");
}

TEST(GroupWith, EachGroupHasAName) {
  EXPECT_EQ(GroupWith("video:x:44:\n", kAnn), "video:x:44:\nann:x:1000002:\nglim-5000:x:5000:\n");
}

TEST(HostsWith, TheHostNameHasTheAddressThatItsPeersKnow) {
  EXPECT_EQ(HostsWith("127.0.0.1 localhost\n", "n1", "10.0.0.1"), "127.0.0.1 localhost\n10.0.0.1 n1\n");
  EXPECT_EQ(HostsWith("127.0.0.1 localhost\n", "n1", ""), "127.0.0.1 localhost\n127.0.1.1 n1\n");
}

TEST(HostsWith, WhatTheNodeSaysOfItselfStays) {
  const std::string hosts = "192.168.0.9\tn1.lab n1 # the first\n";
  EXPECT_EQ(HostsWith(hosts, "n1", "10.0.0.1"), hosts);
  EXPECT_NE(HostsWith("# 10.0.0.2 n1\n", "n1", "10.0.0.1").find("10.0.0.1 n1"), std::string::npos);
}

}  // namespace
}  // namespace glim::nodeagent
