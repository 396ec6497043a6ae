// The files between agent and service: what was written is read, and a service that is gone is seen to be.
#include "sdk/checkpoint/replica/node_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {
namespace {

ReplicaState State() { return {"10.0.0.7:4100", PublicKeyOf(MakeEd25519Seed()), 4711}; }

struct NodeFilesTest : ::testing::Test {
  std::string folder = ::testing::TempDir() + "replica-files-" + std::to_string(::getpid());
  std::string path = folder + "/state";
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(NodeFilesTest, KeysGoThroughAsTheyWere) {
  ReplicaIssuers issuers{"4f1c2d", {PublicKeyOf(MakeEd25519Seed()), PublicKeyOf(MakeEd25519Seed())}, true};
  EXPECT_EQ(ParseIssuers(TextOf(issuers)).value(), issuers);
  issuers = {"4f1c2d", {}, false};
  EXPECT_EQ(ParseIssuers(TextOf(issuers)).value(), issuers);
  const std::string key = KeyText(PublicKeyOf(MakeEd25519Seed()));
  for (const std::string& text : {std::string(), "key " + key + "\n", std::string("cluster a b\n"),
                                  std::string("cluster a\nprivate_fabric yes\n"), "cluster a\nkey " + key + "0\n",
                                  std::string("cluster a\nrest\n")}) {
    EXPECT_EQ(ParseIssuers(text).status().field(), "keys") << text;
  }
}

TEST_F(NodeFilesTest, KeysAreReadAnewWhenTheyAreOthers) {
  std::vector<std::string> said;
  IssuersFile file(folder + "/keys", [&](const std::string& line) { said.push_back(line); });
  EXPECT_TRUE(file.Now().keys.empty()) << "nobody's tokens count yet";
  ReplicaIssuers issuers{"c1", {PublicKeyOf(MakeEd25519Seed())}, false};
  const auto write = [this](const std::string& text) {
    return WriteFileAtomically(folder + "/keys", text, Durability::kProcess).ok();
  };
  ASSERT_TRUE(write(TextOf(issuers)));
  EXPECT_EQ(file.Now(), issuers);
  ASSERT_TRUE(write("garbage\n"));
  EXPECT_EQ(file.Now(), issuers) << "what held holds on";
  EXPECT_EQ(file.Now(), issuers);
  EXPECT_EQ(said.size(), 1U);
  issuers.private_fabric = true;
  ASSERT_TRUE(write(TextOf(issuers)));
  EXPECT_EQ(file.Now(), issuers);
}

// A process may be short of descriptors for a moment; who was revoked in it must not stay.
TEST_F(NodeFilesTest, KeysThatCouldNotBeReadAreReadLater) {
  int said = 0;
  IssuersFile file(folder + "/keys", [&](const std::string&) { ++said; });
  const ReplicaIssuers issuers{"c1", {PublicKeyOf(MakeEd25519Seed())}, false};
  ASSERT_TRUE(WriteFileAtomically(folder + "/keys", TextOf(issuers), Durability::kProcess).ok());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  // UBSan's check of a type needs two descriptors when it sees the type for the first time.
  (void)IoError(EMFILE, "see the type of the error");
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool read_at_once = !file.Now().keys.empty();
  (void)file.Now();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_FALSE(read_at_once);
  EXPECT_EQ(file.Now(), issuers);
  EXPECT_EQ(said, 1);
}

TEST_F(NodeFilesTest, AStateThatKeepsNoRuleIsNone) {
  const ReplicaState state = State();
  EXPECT_EQ(ParseState(TextOf(state)).value(), state);
  const std::string key = "key " + KeyText(state.key) + "\n";
  for (const std::string& text :
       {std::string(), key, std::string("address a:1\n"), key + "address a b:1\n", key + "address a:1\ninstance 1x\n",
        key + "address a:1\ninstance -1\n", key + "address a:1\nmore\n"}) {
    EXPECT_EQ(ParseState(text).status().field(), "state") << text;
  }
}

TEST_F(NodeFilesTest, AServiceIsThereAsLongAsItHoldsItsFile) {
  const ReplicaState state = State();
  {
    const auto held = PublishState(path, state);
    ASSERT_TRUE(held.ok()) << held.status().message();
    EXPECT_EQ(ReadState(path).value(), state);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0644U);
    EXPECT_EQ(PublishState(path, State()).status().code(), StatusCode::kFailedPrecondition) << "one at a time";
    EXPECT_EQ(ReadState(path).value(), state);
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(ReadState(path).status().code(), StatusCode::kNotFound) << "left behind";
  EXPECT_TRUE(PublishState(path, State()).ok()) << "its successor takes the name";
}

// The agent looks whenever it likes, and locks to see whether the service lives.
TEST_F(NodeFilesTest, WhoLooksDoesNotKeepAServiceFromItsFile) {
  std::atomic<bool> over = false;
  std::thread looks([&] {
    while (!over) (void)ReadState(path);
  });
  const ReplicaState state = State();
  int refused = 0;
  for (int i = 0; i < 1000; ++i) refused += PublishState(path, state).ok() ? 0 : 1;
  over = true;
  looks.join();
  EXPECT_EQ(refused, 0);
}

TEST_F(NodeFilesTest, AServiceHasItsKeyAgainAfterARestart) {
  const std::string key = folder + "/key";
  const auto made = ReadOrMakeSeed(key);
  ASSERT_TRUE(made.ok()) << made.status().message();
  struct stat info {};
  ASSERT_EQ(::stat(key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(ReadOrMakeSeed(key).value(), *made);
  ASSERT_EQ(::chmod(key.c_str(), 0640), 0);
  EXPECT_EQ(ReadOrMakeSeed(key).status().code(), StatusCode::kPermissionDenied);
  ASSERT_TRUE(WriteFileAtomically(key, "garbage\n", Durability::kProcess).ok());
  EXPECT_EQ(ReadOrMakeSeed(key).status().field(), "key_file");
}

// The folder is another user's: what lies there must neither stop the agent nor lead it elsewhere.
TEST_F(NodeFilesTest, WhatIsNoPlainFileIsNone) {
  EXPECT_EQ(ReadState(path).status().code(), StatusCode::kNotFound);
  ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
  EXPECT_EQ(ReadState(path).status().code(), StatusCode::kNotFound);
  std::filesystem::remove(path);
  const auto held = PublishState(folder + "/other", State());
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(::symlink((folder + "/other").c_str(), path.c_str()), 0);
  EXPECT_EQ(ReadState(path).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace glim::checkpoint
