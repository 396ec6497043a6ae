#include "scheduler/identity/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <thread>
#include <vector>

#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

namespace glim::identity {
namespace {

TEST(KeyFile, IsMadeOnceAndReadFromThenOn) {
  TempFolder folder;
  const std::string path = folder.path() + "/glim/cluster.key";
  const Status missing = ReadClusterKey(path).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.reason(), "NO_KEY_FILE");
  EXPECT_EQ(missing.field(), path);

  const Result<ClusterKey> made = ReadOrMakeClusterKey(path);
  ASSERT_TRUE(made.ok()) << made.status().message();
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  ASSERT_EQ(::stat((folder.path() + "/glim").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U) << "/etc/glim/config.yaml is for everybody";
  for (const Result<ClusterKey>& again : {ReadClusterKey(path), ReadOrMakeClusterKey(path)}) {
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->bytes(), made->bytes());
  }
  ASSERT_EQ(::chmod((folder.path() + "/glim").c_str(), 0710), 0);
  ASSERT_TRUE(ReadOrMakeClusterKey(folder.path() + "/glim/second.key").ok());
  ASSERT_EQ(::stat((folder.path() + "/glim").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0710U) << "what was there is as its owner made it";
  const Result<ClusterKey> another = ReadOrMakeClusterKey(folder.path() + "/other.key");
  EXPECT_NE(another->bytes(), made->bytes());
  EXPECT_NE(another->Id(), made->Id());
}

TEST(KeyFile, OfManyWhoTryAtOnceOneMakesIt) {
  TempFolder folder;
  const std::string path = folder.path() + "/cluster.key";
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (std::string& id : ids) threads.emplace_back([&] { id = ReadOrMakeClusterKey(path)->Id(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1U);
}

TEST(KeyFile, OneThatOthersMayReadIsRefusedAndNotReplaced) {
  TempFolder folder;
  const std::string path = folder.path() + "/cluster.key";
  ASSERT_TRUE(ReadOrMakeClusterKey(path).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  for (const Status& status : {ReadClusterKey(path).status(), ReadOrMakeClusterKey(path).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(status.reason(), "NOT_PRIVATE");
    EXPECT_EQ(status.fix(), "chmod 600 " + path);
  }
}

TEST(KeyFile, OneWithOtherWordsIsRefusedAndNotReplaced) {
  TempFolder folder;
  const std::string path = folder.path() + "/cluster.key";
  const std::string digits(64, 'a');
  for (const std::string& text : {std::string(), std::string("key"), digits.substr(1), digits + "0", digits + "\n\n",
                                  std::string(64, 'A'), std::string(64, 'g'), std::string(5000, 'a')}) {
    ASSERT_TRUE(WriteFileAtomically(path, text, Durability::kProcess).ok());
    const Status status = ReadOrMakeClusterKey(path).status();
    EXPECT_EQ(status.reason(), "BAD_KEY_FILE") << text;
    EXPECT_EQ(status.message().find("aaaa"), std::string::npos) << "never quoted";
    EXPECT_EQ(*ReadFile(path, 5000), text);
  }
  for (const std::string& text : {digits, digits + "\n"}) {
    ASSERT_TRUE(WriteFileAtomically(path, text, Durability::kProcess).ok());
    EXPECT_EQ(ReadClusterKey(path)->bytes()[0], std::byte{0xaa});
  }
}

}  // namespace
}  // namespace glim::identity
