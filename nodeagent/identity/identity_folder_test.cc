#include "nodeagent/identity/identity_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "scheduler/identity/cluster_authority.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/read_file.h"
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

class IdentityFolderTest : public testing::Test {
 protected:
  Status Write(const NodeCredentials& credentials, const std::string& scheduler) const {
    auto draft = identity_.Begin();
    return draft.ok() ? draft->Become(credentials, scheduler) : draft.status();
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/identity/" + name; }

  const TempFolder folder_;
  const IdentityFolder identity_{folder_.path()};
  const identity::ClusterAuthority authority_ = *identity::ClusterAuthority::Create("c1", WallTime(), FillRandomly);
};

TEST_F(IdentityFolderTest, WhatWasWrittenIsRead) {
  EXPECT_EQ(identity_.Read().status().reason(), "NOT_ENROLLED");
  EXPECT_EQ(identity_.Version(), 0u);
  const NodeCredentials written = Credentials(authority_, "n1");
  ASSERT_TRUE(Write(written, "head:7603").ok());
  const auto read = identity_.Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->certificate, written.certificate);
  EXPECT_EQ(read->key.Pem(), written.key.Pem());
  EXPECT_EQ(read->authorities, written.authorities);
  EXPECT_EQ(identity_.Scheduler(), "head:7603");
  struct stat info {};
  ASSERT_EQ(::stat(Path("node.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  const std::uint64_t version = identity_.Version();
  EXPECT_NE(version, 0u);
  EXPECT_EQ(identity_.Version(), version);
  ASSERT_TRUE(Write(written, "head:7603").ok());
  EXPECT_NE(identity_.Version(), version) << "somebody has written it";
}

TEST_F(IdentityFolderTest, WhatIsTornOrDoesNotBelongTogetherIsRefused) {
  NodeCredentials mixed = Credentials(authority_, "n1");
  mixed.key = pki::PrivateKey::Make();
  ASSERT_TRUE(Write(mixed, "head:7603").ok());
  EXPECT_EQ(identity_.Read().status().reason(), "BAD_IDENTITY");
  ASSERT_TRUE(Write(Credentials(authority_, "n1"), "head:7603").ok());
  const std::string whole = *ReadFile(Path("node.pem"), 1 << 20);
  for (std::size_t size = 0; size < whole.size() - 1; size += 37) {
    ASSERT_TRUE(WriteFileAtomically(Path("node.pem"), whole.substr(0, size), Durability::kProcess).ok());
    const auto read = identity_.Read();
    EXPECT_EQ(read.status().reason(), "BAD_IDENTITY") << size;
    EXPECT_EQ(read.status().message().find("PRIVATE"), std::string::npos) << "no key is quoted";
  }
}

TEST_F(IdentityFolderTest, WhatOthersMayReadOrMoveIsRefused) {
  ASSERT_TRUE(Write(Credentials(authority_, "n1"), "").ok());
  ASSERT_EQ(::chmod(Path("node.pem").c_str(), 0644), 0);
  EXPECT_EQ(identity_.Read().status().reason(), "NOT_PRIVATE");
  ASSERT_EQ(::chmod(Path("node.pem").c_str(), 0600), 0);
  ASSERT_TRUE(identity_.Read().ok());
  ASSERT_EQ(::chmod(Path("").c_str(), 0777), 0);
  EXPECT_EQ(identity_.Read().status().reason(), "NOT_PRIVATE") << "the folder";
  EXPECT_FALSE(identity_.Begin().ok());
  ASSERT_EQ(::chmod(Path("").c_str(), 0700), 0);
  std::filesystem::rename(folder_.path() + "/identity", folder_.path() + "/elsewhere");
  std::filesystem::create_directory_symlink("elsewhere", folder_.path() + "/identity");
  EXPECT_EQ(identity_.Read().status().reason(), "NOT_PRIVATE") << "a link";
  EXPECT_FALSE(identity_.Begin().ok());
}

TEST_F(IdentityFolderTest, ADraftThatDidNotBecomeOneLeavesNothing) {
  const NodeCredentials one = Credentials(authority_, "n1");
  ASSERT_TRUE(Write(one, "head:7603").ok());
  {
    auto draft = identity_.Begin();
    ASSERT_TRUE(draft.ok());
    EXPECT_GE(std::filesystem::file_size(Path("node.pem.spare")), 100'000u) << "the room for it";
    EXPECT_EQ(draft->Become(one, "head:7603\n-----BEGIN").code(), StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(Path("node.pem.spare")));
  EXPECT_EQ(identity_.Read()->certificate, one.certificate);
}

TEST_F(IdentityFolderTest, OneWritesAtATime) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const auto draft = identity_.Begin();
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(identity_.Begin().status().reason(), "IDENTITY_BUSY");
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_TRUE(identity_.Begin().ok()) << "a killed writer's draft is taken over";
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace glim::nodeagent
