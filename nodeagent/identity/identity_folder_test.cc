#include "nodeagent/identity/identity_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scheduler/identity/cluster_authority.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"
#include "sdk/pki/certificate_request.h"

namespace glim::nodeagent {
namespace {

NodeCredentials Credentials(const identity::ClusterAuthority& authority, const std::string& node) {
  const pki::PrivateKey key = pki::PrivateKey::Make();
  auto certificate = authority.SignNode(pki::MakeRequest(key, node), node, WallTime());
  return {key, std::move(certificate).value(), authority.Trust()};
}

TEST(IdentityFolder, WhatWasWrittenIsRead) {
  TempFolder folder;
  const IdentityFolder identity(folder.path());
  EXPECT_EQ(identity.Read().status().reason(), "NOT_ENROLLED");
  EXPECT_EQ(identity.Version(), 0u);
  const auto authority = identity::ClusterAuthority::Create("c1", WallTime(), FillRandomly);
  const NodeCredentials written = Credentials(*authority, "n1");
  ASSERT_TRUE(identity.WriteAll(written, "head:7603").ok());
  const auto read = identity.Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->certificate, written.certificate);
  EXPECT_EQ(read->key.Pem(), written.key.Pem());
  EXPECT_EQ(read->authorities, written.authorities);
  EXPECT_EQ(identity.Scheduler(), "head:7603");
  for (const char* name : {"/identity/key.pem", "/identity/certificate.pem", "/identity/authorities.pem"}) {
    struct stat info {};
    ASSERT_EQ(::stat((folder.path() + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777u, 0600u) << name;
  }
  const std::uint64_t version = identity.Version();
  EXPECT_NE(version, 0u);
  EXPECT_EQ(identity.Version(), version);
  ASSERT_TRUE(identity.WriteRenewed(written).ok());
  EXPECT_NE(identity.Version(), version) << "somebody has written it";
}

TEST(IdentityFolder, FilesThatDoNotBelongTogetherAreRefused) {
  TempFolder folder;
  const IdentityFolder identity(folder.path());
  const auto authority = identity::ClusterAuthority::Create("c1", WallTime(), FillRandomly);
  NodeCredentials mixed = Credentials(*authority, "n1");
  mixed.key = pki::PrivateKey::Make();
  ASSERT_TRUE(identity.WriteAll(mixed, "head:7603").ok());
  EXPECT_EQ(identity.Read().status().reason(), "BAD_IDENTITY");
  ASSERT_TRUE(identity.WriteAll(Credentials(*authority, "n1"), "").ok());
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/identity/authorities.pem", "torn", Durability::kProcess).ok());
  EXPECT_EQ(identity.Read().status().reason(), "BAD_IDENTITY");
  ASSERT_TRUE(identity.WriteAll(Credentials(*authority, "n1"), "").ok());
  ASSERT_EQ(::chmod((folder.path() + "/identity/key.pem").c_str(), 0644), 0);
  EXPECT_FALSE(identity.Read().ok()) << "a key that others can read";
}

}  // namespace
}  // namespace glim::nodeagent
