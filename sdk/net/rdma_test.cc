#include "sdk/net/rdma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/net/testing/rdma_folder.h"

namespace glim::net {
namespace {

TEST(RdmaPorts, AreNoneWhereTheMachineHasNone) { EXPECT_TRUE(RdmaPorts("/nonexistent").empty()); }

TEST(RdmaPorts, AreToldWithStateAndInterfaceInOrderOfNames) {
  testing::RdmaFolder folder;
  folder.Add("mlx5_1", "1: DOWN");
  folder.Add("mlx5_0", "4: ACTIVE");
  folder.Add("rxe0", "4: ACTIVE", "eth2");
  const std::vector<RdmaPort> ports = RdmaPorts(folder.path());
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_EQ(ports[0].name, "mlx5_0:1");
  EXPECT_TRUE(ports[0].active());
  EXPECT_EQ(ports[0].interface, "");
  EXPECT_EQ(ports[1].name, "mlx5_1:1");
  EXPECT_EQ(ports[1].state, "DOWN");
  EXPECT_EQ(ports[2].interface, "eth2");
}

TEST(RdmaPorts, OfUseAreThoseThatAreActiveAndLeadSomewhere) {
  testing::RdmaFolder folder;
  folder.Add("mlx5_0", "4: ACTIVE");
  folder.Add("mlx5_1", "1: DOWN");
  folder.Add("rxe0", "4: ACTIVE", "lo");
  folder.Add("rxe1", "4: ACTIVE", "eth2");
  EXPECT_EQ(UsablePorts(RdmaPorts(folder.path())), "mlx5_0:1,rxe1:1");
}

TEST(RdmaTransports, AreKnownByTheirNames) {
  EXPECT_TRUE(NamesVerbs("rc"));
  EXPECT_TRUE(NamesVerbs("self,rc_x"));
  EXPECT_TRUE(NamesVerbs("ib"));
  EXPECT_FALSE(NamesVerbs("tcp,self,posix"));
}

// Datagrams are written by software, as tcp's messages are; `all` and what is left out ('^') may have them.
TEST(Transports, WhereTheCardAloneWritesIsSaidByName) {
  for (const char* tls : {"rc", "rc,self", "rc_x,dc", "rc_verbs"}) EXPECT_TRUE(OnlyHardwareWrites(tls)) << tls;
  for (const char* tls : {"", "all", "tcp", "rc,tcp", "ud", "ib", "^tcp", "self", "rc,posix", "rc,ud"}) {
    EXPECT_FALSE(OnlyHardwareWrites(tls)) << tls;
  }
}

}  // namespace
}  // namespace glim::net
