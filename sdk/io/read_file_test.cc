#include "sdk/io/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim {
namespace {

TEST(ReadFile, ReadingIsBounded) {
  TempFolder folder;
  const std::string path = folder.path() + "/file";
  EXPECT_EQ(ReadFile(path, 10).status().code(), StatusCode::kNotFound);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{11}, std::size_t{16 << 10}, std::size_t{100'000}}) {
    const std::string text(bytes, 'x');
    ASSERT_TRUE(WriteFileAtomically(path, text, Durability::kProcess).ok());
    EXPECT_EQ(*ReadFile(path, bytes), text);
    EXPECT_EQ(*ReadFile(path, bytes + 1), text);
    if (bytes == 0) continue;
    EXPECT_EQ(ReadFile(path, bytes - 1).status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(ReadFile(path, 0).status().code(), StatusCode::kResourceExhausted);
  }
}

TEST(ReadFile, WhatHasNoSizeIsReadToItsEnd) {
  EXPECT_FALSE(ReadFile("/proc/self/status", 1 << 20)->empty());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_EQ(::write(writer.get(), "text", 4), 4);
  writer.Reset();
  std::string text;
  EXPECT_EQ(ReadAll(reader.get(), 4, text), 0);
  EXPECT_EQ(text, "text");
}

TEST(ReadFile, AFaultLeavesNothing) {
  std::string text = "old";
  EXPECT_EQ(ReadAll(-1, 10, text), EBADF);
  EXPECT_EQ(text, "");
  EXPECT_EQ(ReadFile("/tmp", 10).status().message(), "cannot read /tmp: Is a directory");
}

}  // namespace
}  // namespace glim
