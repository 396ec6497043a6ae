// Which way is chosen, and what is said when one is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <thread>

#include "sdk/checkpoint/io/batch_reader.h"
#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/io/testing/io_cases.h"

namespace glim::checkpoint {
namespace {

using testing::HasSubstr;

// As the seccomp profiles of container runtimes do it. Of this thread, for good.
void ForbidUring(int error) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(IoChoice, AutoIsUringWhereItIsAllowed) {
  const IoFolder folder;
  Image image(100'000, 1);
  const auto writer = MakeFileWriter(OptionsFor({IoKind::kAuto, true}), folder.path());
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ((*writer)->Write(folder.fd(), "a", image.bytes()).value().kind, IoKind::kUring);
}

TEST(IoChoice, AutoIsPwriteWhereUringIsForbidden) {
  for (const int error : {EPERM, ENOSYS}) {
    std::thread([&] {
      ForbidUring(error);
      const IoFolder folder;
      const auto writer = MakeFileWriter(OptionsFor({IoKind::kAuto, true}), folder.path());
      const auto reader = MakeBatchReader(OptionsFor({IoKind::kAuto, true}), folder.path());
      ASSERT_TRUE(writer.ok() && reader.ok());
      Image image(100'000, 1), into(100'000, 2);
      EXPECT_EQ((*writer)->Write(folder.fd(), "a", image.bytes()).value().kind, IoKind::kPwrite);
      const std::vector<ReadRange> ranges = {{0, 0, into.bytes()}};
      const auto read = (*reader)->Read(folder.fd(), {"a"}, ranges, [](std::size_t) { return Status::Ok(); });
      EXPECT_EQ(read.value().kind, IoKind::kPwrite);
      EXPECT_TRUE(into.ToString() == image.ToString());

      const Status status = MakeFileWriter(OptionsFor({IoKind::kUring, true}), folder.path()).status();
      EXPECT_EQ(status.code(), StatusCode::kUnavailable);
      EXPECT_EQ(status.field(), "io.kind");
      EXPECT_THAT(status.fix(), HasSubstr("seccomp"));
    }).join();
  }
}

TEST(IoChoice, UsrbioNeedsItsLibrary) {
  const IoFolder folder;
  IoOptions options = OptionsFor({IoKind::kUsrbio, true});
  options.usrbio_library = "libno_such_library.so";
  const Status status = MakeFileWriter(options, folder.path()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.field(), "io.usrbio_library");
  EXPECT_THAT(status.message(), HasSubstr("libno_such_library.so"));
}

TEST(IoChoice, UsrbioNeedsALibraryWithItsFunctions) {
  const IoFolder folder;
  IoOptions options = OptionsFor({IoKind::kUsrbio, true});
  options.usrbio_library = "libc.so.6";
  const Status status = MakeFileWriter(options, folder.path()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("libc.so.6 has no function hf3fs_"));
}

TEST(IoChoice, UsrbioNeedsAFolderOn3FS) {
  const Status status = MakeFileWriter(OptionsFor({IoKind::kUsrbio, true}), "/proc").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("/proc is not on 3FS"));
}

TEST(IoChoice, OptionsOutOfRangeAreNamed) {
  const auto field = [](std::uint64_t block_bytes, std::uint32_t depth) {
    IoOptions options;
    options.block_bytes = block_bytes;
    options.depth = depth;
    const auto reader = MakeBatchReader(options, "/");
    return reader.ok() ? "" : reader.status().field();
  };
  EXPECT_EQ(field(0, 4), "io.block_bytes");
  EXPECT_EQ(field(5000, 4), "io.block_bytes");
  EXPECT_EQ(field(std::uint64_t{1} << 31, 4), "io.block_bytes");
  EXPECT_EQ(field(4096, 0), "io.depth");
  EXPECT_EQ(field(4096, 1025), "io.depth");
  EXPECT_EQ(field(4096, 1), "");
}

}  // namespace
}  // namespace glim::checkpoint
