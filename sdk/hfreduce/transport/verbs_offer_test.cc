#include "sdk/hfreduce/transport/verbs_offer.h"

#include <gtest/gtest.h>

namespace glim::hfreduce {
namespace {

using net::RdmaPort;

const RdmaPort kPortUp{"mlx5_0:1", "ACTIVE", ""};
const RdmaPort kSecondPort{"mlx5_1:1", "ACTIVE", ""};
const RdmaPort kPortDown{"mlx5_2:1", "DOWN", ""};
const RdmaPort kOnLoopback{"rxe0:1", "ACTIVE", "lo"};

TEST(VerbsOffer, IsEveryActivePortOverReliableConnections) {
  const VerbsOffer offer = OfferVerbs({}, {kPortUp, kSecondPort, kPortDown, kOnLoopback});
  EXPECT_EQ(offer.tls, "rc");
  EXPECT_EQ(offer.devices, "mlx5_0:1,mlx5_1:1");
}

TEST(VerbsOffer, AMachineWithoutDevicesHasNone) {
  const VerbsOffer offer = OfferVerbs({}, {});
  EXPECT_FALSE(offer.possible());
  EXPECT_EQ(offer.why_not, "it has no RDMA device");
}

TEST(VerbsOffer, APortThatIsDownIsNamedWithItsState) {
  EXPECT_EQ(OfferVerbs({}, {kPortDown}).why_not, "mlx5_2:1 is DOWN");
  const VerbsOffer named = OfferVerbs({.devices = "mlx5_2:1"}, {kPortUp, kPortDown});
  EXPECT_FALSE(named.possible());
  EXPECT_TRUE(named.named);
  EXPECT_EQ(named.why_not, "mlx5_2:1 is DOWN");
}

TEST(VerbsOffer, APortThatLeadsNowhereIsNoneUnlessAllPeersAreHere) {
  EXPECT_EQ(OfferVerbs({}, {kOnLoopback}).why_not, "rxe0:1 is on the loopback interface");
  EXPECT_EQ(OfferVerbs({.stays_here = true}, {kOnLoopback}).devices, "rxe0:1");
}

TEST(VerbsOffer, OptionsComeBeforeTheEnvironment) {
  const net::UcxVariables variables{"", "mlx5_1:1"};
  EXPECT_EQ(OfferVerbs({.variables = variables}, {kPortUp, kSecondPort}).devices, "mlx5_1:1");
  EXPECT_EQ(OfferVerbs({.devices = "mlx5_0:1", .variables = variables}, {kPortUp, kSecondPort}).devices, "mlx5_0:1");
}

TEST(VerbsOffer, WhatIsNamedAndNotThereIsToldBesideWhatIs) {
  const VerbsOffer offer = OfferVerbs({.devices = "mlx5_7:1"}, {kPortUp, kPortDown});
  EXPECT_FALSE(offer.possible());
  EXPECT_EQ(offer.why_not, "it has no RDMA port mlx5_7:1 (it has mlx5_0:1 ACTIVE, mlx5_2:1 DOWN)");
  EXPECT_EQ(OfferVerbs({.devices = "eth0"}, {}).why_not, "it has no RDMA port eth0 (it has no RDMA device)");
  EXPECT_FALSE(OfferVerbs({.devices = "eth0"}, {}).named) << "an interface is a device of UCX's tcp";
}

TEST(VerbsOffer, OfSeveralNamedPortsThoseThatAreUpWillDo) {
  EXPECT_EQ(OfferVerbs({.devices = "mlx5_2:1,mlx5_1:1"}, {kPortUp, kSecondPort, kPortDown}).devices, "mlx5_1:1");
  EXPECT_EQ(OfferVerbs({.devices = "mlx5_*"}, {kPortUp, kSecondPort, kPortDown}).devices, "mlx5_*")
      << "a pattern is UCX's";
}

TEST(VerbsOffer, TheEnvironmentsTransportsCount) {
  const auto with = [](const std::string& tls) { return OfferVerbs({.variables = {tls, ""}}, {kPortUp}); };
  EXPECT_EQ(with("all").tls, "rc");
  EXPECT_EQ(with("rc_x,self").tls, "rc_x,self");
  EXPECT_EQ(with("^tcp").tls, "rc");
  EXPECT_EQ(with("tcp").why_not, "UCX_TLS=tcp in its environment leaves verbs out");
  EXPECT_FALSE(with("^rc,dc").possible());
}

TEST(InterfacesForUcxsTcp, AreWhatWasNamedWithoutRdmaPorts) {
  EXPECT_EQ(InterfacesAmong({.devices = "mlx5_0:1,eth0"}, {kPortUp}), "eth0");
  EXPECT_EQ(InterfacesAmong({.devices = "mlx5_0:1"}, {kPortUp}), "all");
  EXPECT_EQ(InterfacesAmong({.variables = {"", "eth1"}}, {}), "eth1");
  EXPECT_EQ(InterfacesAmong({}, {}), "all");
}

TEST(VerbsOffer, ABuildWithoutUcxHasNone) {
  EXPECT_EQ(OfferVerbs({.built = false}, {kPortUp}).why_not, "this build of hfreduce is without UCX");
}

}  // namespace
}  // namespace glim::hfreduce
