#include "sdk/io/trusted_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "sdk/io/testing/temp_folder.h"

namespace glim {
namespace {

class TrustedFolderTest : public testing::Test {
 protected:
  std::string Path() const { return root_.path() + "/jobs"; }
  std::string WhyNot() { return OpenTrusted(above_.get(), "jobs").why; }

  TempFolder root_;
  UniqueFd above_{::open(root_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(TrustedFolderTest, IsMadeOnceWithItsMode) {
  EXPECT_EQ(OpenTrusted(above_.get(), "jobs").error, ENOENT);
  ASSERT_EQ(MakeTrusted(above_.get(), "jobs", 01733), 0);
  ASSERT_EQ(MakeTrusted(above_.get(), "jobs", 0711), 0) << "it is there";
  struct stat info {};
  ASSERT_EQ(::stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 01733u);
  EXPECT_TRUE(OpenTrusted(above_.get(), "jobs").fd);
}

// What only root may do: without root there is no instance.
class OwnedFolderTest : public TrustedFolderTest, public testing::WithParamInterface<bool> {};

TEST_P(OwnedFolderTest, IsNobodysButThoseWhoAreTrustedAnyway) {
  ASSERT_EQ(MakeTrusted(above_.get(), "jobs", 0711), 0);
  ASSERT_EQ(::chown(Path().c_str(), 61002, 61002), 0);
  EXPECT_EQ(WhyNot(), Path() + " belongs to uid 61002: an operator removes it or takes it (chown root)");
  EXPECT_EQ(OpenTrusted(above_.get(), "jobs", 61002).why, "") << "who is to have it";
  EXPECT_NE(OpenTrusted(above_.get(), "jobs", 61003).why, "");
  ASSERT_EQ(::chown(root_.path().c_str(), 61002, 0), 0);
  EXPECT_EQ(WhyNot(), "") << "whose all of it is";
}

TEST_F(TrustedFolderTest, IsClosedToOthersOrSticky) {
  ASSERT_EQ(MakeTrusted(above_.get(), "jobs", 0711), 0);
  for (const mode_t mode : {0777U, 0775U, 0733U}) {
    ASSERT_EQ(::chmod(Path().c_str(), mode), 0);
    EXPECT_NE(WhyNot().find(", so that users may exchange what is in it: an operator closes it"), std::string::npos);
  }
  ASSERT_EQ(::chmod(Path().c_str(), 01777), 0);
  EXPECT_EQ(WhyNot(), "");
}

TEST_F(TrustedFolderTest, IsNoLink) {
  std::filesystem::create_directory_symlink("/usr", Path());
  EXPECT_NE(OpenTrusted(above_.get(), "jobs").error, 0);
}

INSTANTIATE_TEST_SUITE_P(Root, OwnedFolderTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector<bool>{true} : std::vector<bool>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OwnedFolderTest);

}  // namespace
}  // namespace glim
