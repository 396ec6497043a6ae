#include "nodeagent/task/log_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sdk/base/rng.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

std::size_t FilesIn(const std::string& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

// Byte i of a log that can be checked anywhere.
char ByteAt(std::int64_t i) { return static_cast<char>('a' + i * 7 % 26); }

std::string Bytes(std::int64_t begin, std::int64_t end) {
  std::string bytes;
  for (std::int64_t i = begin; i < end; ++i) bytes += ByteAt(i);
  return bytes;
}

TEST(LogFiles, OffsetsCountFromTheFirstByteEverWritten) {
  TempFolder folder;
  const std::string path = LogPath(folder.path(), 3);
  EXPECT_EQ(ReadLog(path, 0, 10).status().code(), StatusCode::kNotFound);
  Rng rng(1);
  std::int64_t written = 0;
  for (int life = 0; life < 5; ++life) {  // each a writer that goes on where the one before stopped
    LogWriter writer(path, {1000, 4});
    ASSERT_TRUE(writer.Open().ok());
    for (int i = 0; i < 40; ++i) {
      const std::int64_t n = rng.Between(0, 300);
      writer.Write(Bytes(written, written + n));
      written += n;
      ASSERT_LE(FilesIn(folder.path()), 4u);
      const std::int64_t from = rng.Between(0, written);
      const auto log = ReadLog(path, from, static_cast<std::size_t>(rng.Between(1, 2500)));
      ASSERT_TRUE(log.ok());
      ASSERT_EQ(log->end, written);
      ASSERT_GE(log->offset, from);
      ASSERT_TRUE(log->offset == from || log->offset > written - 4000) << "only what rotation dropped is missing";
      ASSERT_EQ(log->data, Bytes(log->offset, log->offset + static_cast<std::int64_t>(log->data.size())));
      ASSERT_TRUE(!log->data.empty() || from == written);
    }
  }
  EXPECT_GT(written, 20'000);
  const auto oldest = ReadLog(path, 0, 1 << 20);
  EXPECT_GE(written - oldest->offset, 3000) << "three full files and the newest";
  EXPECT_EQ(oldest->data, Bytes(oldest->offset, written));
  const auto tail = ReadLog(path, -10, 100);
  EXPECT_EQ(tail->data, Bytes(written - 10, written));
  EXPECT_EQ(tail->begin, oldest->offset) << "where what is left begins";
  EXPECT_TRUE(ReadLog(path, written, 100)->data.empty());
}

TEST(LogFiles, OneLargeWriteIsCutIntoFiles) {
  TempFolder folder;
  const std::string path = LogPath(folder.path(), 0);
  LogWriter writer(path, {100, 3});
  ASSERT_TRUE(writer.Open().ok());
  writer.Write(Bytes(0, 1050));
  EXPECT_EQ(FilesIn(folder.path()), 3u);
  const auto log = ReadLog(path, 0, 10'000);
  EXPECT_EQ(log->offset, 800);
  EXPECT_EQ(log->data, Bytes(800, 1050));
}

TEST(LogFiles, WhatTheDiskRefusesIsCountedAndTold) {
  TempFolder folder;
  const std::string path = LogPath(folder.path(), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    LogWriter writer(path, {1'000'000, 4});
    bool ok = writer.Open().ok();
    writer.Write("before\n");
    const rlimit full{7, RLIM_INFINITY}, room{RLIM_INFINITY, RLIM_INFINITY};
    ok = ok && ::setrlimit(RLIMIT_FSIZE, &full) == 0;
    writer.Write("lost\n");
    writer.Write("lost too\n");
    ok = ok && ::setrlimit(RLIMIT_FSIZE, &room) == 0;
    writer.Write("after\n");
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(ReadLog(path, 0, 1000)->data, "before\n\n[glim: 14 bytes of output were dropped: disk full]\nafter\n");
}

TEST(LogFiles, AReaderBesideAWriterSeesTheRightBytes) {
  TempFolder folder;
  const std::string path = LogPath(folder.path(), 0);
  constexpr std::int64_t kBytes = 400'000;
  { ASSERT_TRUE(LogWriter(path, {2000, 8}).Open().ok()); }
  const pid_t child = ::fork();
  if (child == 0) {
    LogWriter writer(path, {2000, 8});
    const bool ok = writer.Open().ok();
    for (std::int64_t at = 0; at < kBytes; at += 100) writer.Write(Bytes(at, at + 100));
    ::_exit(ok ? 0 : 1);
  }
  std::int64_t at = 0;
  std::int64_t read = 0;
  while (at < kBytes) {
    const auto log = ReadLog(path, at, 4096);
    if (!log.ok()) {
      ASSERT_EQ(log.status().code(), StatusCode::kUnavailable) << log.status().message();
      continue;
    }
    ASSERT_GE(log->offset, at);
    at = log->offset + static_cast<std::int64_t>(log->data.size());
    ASSERT_EQ(log->data, Bytes(log->offset, at));
    read += static_cast<std::int64_t>(log->data.size());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(at, kBytes);
  EXPECT_GT(read, 0);
}

TEST(LogFiles, TheOldestAttemptsLogsArePruned) {
  TempFolder folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 6; ++i) {
    const std::string attempt = folder.path() + "/" + std::to_string(i) + "-1";
    std::filesystem::create_directory(attempt);
    std::ofstream(attempt + "/rank-0.log") << std::string(1000, 'x');
    for (const std::string& path : {attempt + "/rank-0.log", attempt}) {
      std::filesystem::last_write_time(path, now - std::chrono::hours(100 - i));
    }
  }
  const auto keep_first = [](const std::string& name) { return name == "0-1"; };
  EXPECT_EQ(PruneLogs(folder.path(), 1 << 20, 100, keep_first), 0);
  EXPECT_EQ(PruneLogs(folder.path(), 4500, 100, keep_first), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/0-1")) << "in use";
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/1-1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/2-1"));
  EXPECT_EQ(PruneLogs(folder.path(), 1 << 20, 2, keep_first), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/5-1")) << "the newest";
  EXPECT_EQ(FilesIn(folder.path()), 2u);
  EXPECT_EQ(PruneLogs(folder.path() + "/none", 0, 0, keep_first), 0);
}

}  // namespace
}  // namespace glim::nodeagent
