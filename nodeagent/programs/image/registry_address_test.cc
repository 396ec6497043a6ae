#include "nodeagent/programs/image/registry_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

using ::testing::HasSubstr;

TEST(PublicAddress, IsOneOfTheWholeInternets) {
  for (const char* address : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "192.169.0.1", "2600::1"}) {
    EXPECT_TRUE(IsPublicAddress(address)) << address;
  }
  for (const char* address : {"127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
                              "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
                              "fd00::1", "::ffff:10.0.0.1", "64:ff9b::1", "not an address", ""}) {
    EXPECT_FALSE(IsPublicAddress(address)) << address;
  }
}

TEST(WayToARegistry, AtAPrivateAddressHasToBeNamed) {
  const Result<RegistryWay> refused = WayTo("127.0.0.1:5000", {"127.0.0.1", "http://127.0.0.1:5001"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().field(), "image");
  EXPECT_THAT(refused.status().message(), HasSubstr("is at a private address, 127.0.0.1"));
  ASSERT_TRUE(WayTo("127.0.0.1:5000", {"127.0.0.1:5000"}).ok());
  EXPECT_FALSE(WayTo("127.0.0.1:5000", {"127.0.0.1:5000"})->plain);
  EXPECT_TRUE(WayTo("127.0.0.1:5000", {"http://127.0.0.1:5000"})->plain);
}

TEST(WayToARegistry, WhoseNameIsNotKnownIsTriedElsewhere) {
  const Result<RegistryWay> unknown = WayTo("registry.invalid", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace glim::nodeagent
