#include "sdk/io/io_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

TEST(IoError, SaysWhatFailedWhyAndWhatHelps) {
  const std::pair<int, StatusCode> cases[] = {
      {ENOSPC, StatusCode::kResourceExhausted},
      {EDQUOT, StatusCode::kResourceExhausted},
      {EFBIG, StatusCode::kResourceExhausted},
      {EMFILE, StatusCode::kResourceExhausted},
      {EIO, StatusCode::kDataLoss},
      {ENOENT, StatusCode::kNotFound},
      {ESTALE, StatusCode::kNotFound},
      {EACCES, StatusCode::kPermissionDenied},
      {EROFS, StatusCode::kPermissionDenied},
      {EEXIST, StatusCode::kAlreadyExists},
      {ENODEV, StatusCode::kUnavailable},
  };
  for (const auto& [error, code] : cases) EXPECT_EQ(IoError(error, "write x").code(), code) << error;
  EXPECT_EQ(FileError("write", "/a/b", ENOSPC).message(), "cannot write /a/b: No space left on device");
  EXPECT_EQ(FileError("write", "/a/b", ENOSPC).fix(), "free space on this file system");
}

TEST(IoError, AFileInAnOpenFolderIsNamedByItsPath) {
  TempFolder folder;
  const UniqueFd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Status status = ErrorIn(fd.get(), "name", "open", ENOENT);
  EXPECT_EQ(status.message(), "cannot open " + folder.path() + "/name: No such file or directory");
  EXPECT_EQ(status.field(), folder.path() + "/name");
  EXPECT_EQ(PathIn(fd.get(), ""), folder.path());
  EXPECT_EQ(PathIn(-1, "name"), "(folder)/name");
}

TEST(CheckFileName, APlainNameIsNoPath) {
  for (const char* name : {"a", ".hidden", "...", "a b"}) EXPECT_TRUE(CheckFileName(name).ok()) << name;
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("/"), std::string("a\0b", 3)}) {
    EXPECT_EQ(CheckFileName(name).code(), StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace glim
