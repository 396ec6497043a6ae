// What every FileWriter does, whichever way it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/io/testing/io_cases.h"

namespace glim::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WriterContract : public testing::TestWithParam<IoCase> {
 protected:
  std::unique_ptr<FileWriter> Writer() {
    auto writer = MakeFileWriter(OptionsFor(GetParam()), folder_.path());
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(writer).value();
  }

  IoFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Ways, WriterContract, testing::ValuesIn(AllIoCases()),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(WriterContract, FilesOfEverySizeHoldTheImageAndNothingMore) {
  const auto writer = Writer();
  const std::size_t block = OptionsFor(GetParam()).block_bytes;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096},
                                  std::size_t{4097}, block - 1, block, block + 1, 7 * block + 4097}) {
    Image image(bytes, bytes);
    const std::string name = "shard-" + std::to_string(bytes);
    const Result<IoReport> report = writer->Write(folder_.fd(), name, image.bytes());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(folder_.ReadAll(name) == image.ToString()) << bytes;
    EXPECT_EQ(report->bytes, bytes);
    EXPECT_EQ(report->kind, GetParam().kind);
    EXPECT_GE(report->micros, report->sync_micros);
  }
}

TEST_P(WriterContract, TheReportSaysWhetherThePageCacheWasPassedBy) {
  Image image(100'000, 1);
  const Result<IoReport> report = Writer()->Write(folder_.fd(), "a", image.bytes());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->direct, GetParam().direct && GetParam().kind != IoKind::kUsrbio);
}

TEST_P(WriterContract, RegisteredMemoryWritesTheSame) {
  const auto writer = Writer();
  Image memory(1 << 20, 3);
  writer->Register(memory.bytes());
  Image stranger(200'000, 4);
  const auto part = memory.bytes().subspan(256 << 10, 300'001);
  const Result<IoReport> known = writer->Write(folder_.fd(), "known", part);
  const Result<IoReport> unknown = writer->Write(folder_.fd(), "unknown", stranger.bytes());
  writer->Forget();
  const Result<IoReport> forgotten = writer->Write(folder_.fd(), "forgotten", part);
  ASSERT_TRUE(known.ok() && unknown.ok() && forgotten.ok());
  EXPECT_TRUE(folder_.ReadAll("known") == std::string(reinterpret_cast<const char*>(part.data()), part.size()));
  EXPECT_TRUE(folder_.ReadAll("unknown") == stranger.ToString());
  EXPECT_TRUE(folder_.ReadAll("forgotten") == folder_.ReadAll("known"));
  EXPECT_EQ(known->registered, GetParam().kind == IoKind::kUring);
  EXPECT_FALSE(unknown->registered);
  EXPECT_FALSE(forgotten->registered);
}

TEST_P(WriterContract, AFileThatIsThereIsLeftAlone) {
  Image old(5000, 1), image(6000, 2);
  folder_.WriteAll("a", old.bytes());
  const Status status = Writer()->Write(folder_.fd(), "a", image.bytes()).status();
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(status.message(), HasSubstr("a: File exists"));
  EXPECT_TRUE(folder_.ReadAll("a") == old.ToString());
}

TEST_P(WriterContract, ANameThatLeadsElsewhereIsRefused) {
  Image image(10, 1);
  const auto writer = Writer();
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("../a"),
                                  std::string("/tmp/a"), std::string("a/b"), std::string("a\0b", 3)}) {
    EXPECT_EQ(writer->Write(folder_.fd(), name, image.bytes()).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_P(WriterContract, AFolderThatHasVanishedIsNotFound) {
  const auto writer = Writer();
  std::filesystem::remove_all(folder_.path());
  Image image(10'000, 1);
  const Status status = writer->Write(folder_.fd(), "a", image.bytes()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("a: No such file or directory"));
}

TEST_P(WriterContract, AFileBeyondTheLimitOnSizesIsRefusedWithoutASignal) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{100'000, before.rlim_max};
  const auto writer = Writer();
  Image image(200'000, 1), small(50'000, 2);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const Status status = writer->Write(folder_.fd(), "a", image.bytes()).status();
  const bool small_is_written = writer->Write(folder_.fd(), "b", small.bytes()).ok();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.fix(), HasSubstr("ulimit -f"));
  EXPECT_TRUE(small_is_written);
  EXPECT_THAT(folder_.Files(), ElementsAre("b"));
}

TEST_P(WriterContract, AFullDiskLeavesNoFileBehindAndTheNextSmallerOneIsWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  // In a thread with mounts of its own, which go with it.
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    const std::string mount_point = folder_.path() + "/small";
    ASSERT_EQ(::mkdir(mount_point.c_str(), 0755), 0);
    ASSERT_EQ(::mount("none", mount_point.c_str(), "tmpfs", 0, "size=1m"), 0);
    {
      const IoFolder full(mount_point);
      const auto writer = Writer();
      Image image(2 << 20, 1), small(300'000, 2);
      const Status status = writer->Write(full.fd(), "a", image.bytes()).status();
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
      EXPECT_THAT(status.message(), HasSubstr("a: No space left on device"));
      EXPECT_THAT(full.Files(), IsEmpty());
      EXPECT_TRUE(writer->Write(full.fd(), "b", small.bytes()).ok());
      EXPECT_TRUE(full.ReadAll("b") == small.ToString());
    }
    EXPECT_EQ(::umount(mount_point.c_str()), 0);
  }).join();
}

TEST_P(WriterContract, NoDescriptorStaysOpen) {
  const std::size_t before = OpenDescriptors();
  {
    const auto writer = Writer();
    Image image(10'000, 1);
    ASSERT_TRUE(writer->Write(folder_.fd(), "a", image.bytes()).ok());
    const std::size_t after_one = OpenDescriptors();
    ASSERT_FALSE(writer->Write(folder_.fd(), "a", image.bytes()).ok());
    ASSERT_TRUE(writer->Write(folder_.fd(), "b", image.bytes()).ok());
    EXPECT_EQ(OpenDescriptors(), after_one);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace glim::checkpoint
