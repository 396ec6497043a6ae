#include "scheduler/identity/replica_key.h"

#include <gtest/gtest.h>

#include "sdk/io/random_bytes.h"

namespace glim::identity {
namespace {

const std::string kReplicaSigningKey(32, 'k');
constexpr TimePoint kReplicaNow{1'800'000'000'000};

TEST(ReplicaKey, IsAnotherOfEachSigningKeyAndEachAuthority) {
  const auto one = ClusterAuthority::Create("c1", kReplicaNow, FillRandomly).value();
  const auto other = ClusterAuthority::Create("c1", kReplicaNow, FillRandomly).value();
  const Ed25519Seed seed = ReplicaSeedOf(kReplicaSigningKey, one.Signer());
  EXPECT_EQ(seed, ReplicaSeedOf(kReplicaSigningKey, one.Signer())) << "any scheduler with the key file makes it";
  EXPECT_NE(seed, ReplicaSeedOf(std::string(32, 'l'), one.Signer()));
  EXPECT_NE(seed, ReplicaSeedOf(kReplicaSigningKey, other.Signer()));
}

// Services are told of both while the authority is changed, and of the new one alone when that is over.
TEST(ReplicaKey, IsChangedWithTheAuthority) {
  ClusterAuthority authority = ClusterAuthority::Create("c1", kReplicaNow, FillRandomly).value();
  const std::vector<Ed25519Key> before = ReplicaKeysOf(kReplicaSigningKey, authority);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0], PublicKeyOf(ReplicaSeedOf(kReplicaSigningKey, authority.Signer())));
  ASSERT_TRUE(authority.Begin(kReplicaNow).ok());
  const std::vector<Ed25519Key> meanwhile = ReplicaKeysOf(kReplicaSigningKey, authority);
  ASSERT_EQ(meanwhile.size(), 2u);
  EXPECT_EQ(meanwhile[0], before[0]);
  EXPECT_EQ(meanwhile[1], PublicKeyOf(ReplicaSeedOf(kReplicaSigningKey, authority.Signer()))) << "the last one signs";
  ASSERT_TRUE(authority.Finish({}, false).ok());
  EXPECT_EQ(ReplicaKeysOf(kReplicaSigningKey, authority), std::vector<Ed25519Key>{meanwhile[1]});
}

}  // namespace
}  // namespace glim::identity
