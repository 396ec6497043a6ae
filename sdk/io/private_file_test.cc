#include "sdk/io/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"

namespace glim {
namespace {

TEST(PrivateFile, IsReadOnlyWhenItIsOursAndClosedToOthers) {
  TempFolder folder;
  const std::string path = folder.path() + "/key";
  EXPECT_EQ(ReadPrivateFile(path, 10).status().code(), StatusCode::kNotFound);
  for (const mode_t mode : {0600U, 0400U, 0700U, 0640U, 0604U, 0620U, 0601U, 0644U}) {
    ASSERT_TRUE(WriteFileAtomically(path, "secret", {.durability = Durability::kProcess, .mode = mode}).ok());
    const Result<std::string> read = ReadPrivateFile(path, 10);
    if ((mode & 077U) == 0) {
      ASSERT_TRUE(read.ok()) << std::oct << mode << read.status().message();
      EXPECT_EQ(*read, "secret");
      continue;
    }
    ASSERT_FALSE(read.ok()) << std::oct << mode;
    EXPECT_EQ(read.status().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(read.status().reason(), "NOT_PRIVATE");
    EXPECT_EQ(read.status().fix(), "chmod 600 " + path);
  }
}

TEST(PrivateFile, IsBoundedAndAFile) {
  TempFolder folder;
  const std::string path = folder.path() + "/key";
  ASSERT_TRUE(WriteFileAtomically(path, "0123456789", Durability::kProcess).ok());
  EXPECT_EQ(ReadPrivateFile(path, 9).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadPrivateFile(folder.path(), 9).status().code(), StatusCode::kInvalidArgument);
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadPrivateFile(pipe, 9).status().code(), StatusCode::kInvalidArgument) << "and nobody waits for a writer";
}

TEST(PrivateFile, AnothersIsRefused) {
  if (::geteuid() == 0) {
    TempFolder folder;
    const std::string path = folder.path() + "/key";
    ASSERT_TRUE(WriteFileAtomically(path, "secret", Durability::kProcess).ok());
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_EQ(ReadPrivateFile(path, 10).status().reason(), "NOT_PRIVATE");
  } else {
    EXPECT_EQ(ReadPrivateFile("/etc/hostname", 1 << 16).status().reason(), "NOT_PRIVATE");
  }
}

}  // namespace
}  // namespace glim
