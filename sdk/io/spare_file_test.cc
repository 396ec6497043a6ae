#include "sdk/io/spare_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/small_disk.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim {
namespace {

// On a file system of 1 MiB, which root alone can have.
class SpareFileTest : public testing::TestWithParam<Durability> {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Text(const std::string& name) const { return ReadFile(Path(name), 1 << 20).value(); }

  TempFolder folder_;
  SmallDisk disk_{folder_.path(), 1};
  SpareFile spare_{Path("spare"), 1 << 16};
};

TEST_P(SpareFileTest, TakesItsPlaceOnTheDisk) {
  EXPECT_FALSE(spare_.held());
  ASSERT_TRUE(spare_.Take().ok());
  EXPECT_TRUE(spare_.held());
  struct stat info {};
  ASSERT_EQ(::stat(Path("spare").c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 64 * 1024);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  spare_.Drop();
  EXPECT_FALSE(std::filesystem::exists(Path("spare")));
}

TEST_P(SpareFileTest, IsNotTouchedWhileThereIsRoom) {
  ASSERT_TRUE(spare_.Take().ok());
  EXPECT_TRUE(spare_.Write(Path("state"), "new", GetParam()).ok());
  EXPECT_EQ(Text("state"), "new");
  EXPECT_TRUE(spare_.held());
}

TEST_P(SpareFileTest, HoldsTheContentWhenNothingElseFits) {
  ASSERT_TRUE(spare_.Take().ok());
  ASSERT_TRUE(spare_.Write(Path("state"), "old", GetParam()).ok());
  disk_.Fill("flood");
  const std::string content(20'000, 'y');
  ASSERT_TRUE(IsDiskFull(WriteFileAtomically(Path("other"), content, GetParam()))) << "the disk is full";
  EXPECT_TRUE(spare_.Write(Path("state"), content, GetParam()).ok());
  EXPECT_EQ(Text("state"), content);
  EXPECT_FALSE(spare_.held());
  EXPECT_FALSE(std::filesystem::exists(Path("spare")));
}

TEST_P(SpareFileTest, IsTakenAgainWhenThereIsRoom) {
  ASSERT_TRUE(spare_.Take().ok());
  disk_.Fill("flood");
  ASSERT_TRUE(spare_.Write(Path("state"), "one", GetParam()).ok());
  disk_.Fill("flood");
  EXPECT_TRUE(IsDiskFull(spare_.Take()));
  EXPECT_TRUE(IsDiskFull(spare_.Write(Path("state"), std::string(5000, 'z'), GetParam())));
  EXPECT_EQ(Text("state"), "one") << "as it was";
  disk_.Remove("flood");
  EXPECT_TRUE(spare_.Take().ok());
  disk_.Fill("flood");
  EXPECT_TRUE(spare_.Write(Path("state"), std::string(5000, 'z'), GetParam()).ok());
}

TEST_P(SpareFileTest, AContentThatIsLongerIsRefusedAndTheSpareStays) {
  ASSERT_TRUE(spare_.Take().ok());
  disk_.Fill("flood");
  EXPECT_TRUE(IsDiskFull(spare_.Write(Path("state"), std::string(70'000, 'z'), GetParam())));
  EXPECT_TRUE(spare_.held());
}

TEST_P(SpareFileTest, OfASpareThatSomebodyRemovedTheDiskIsFull) {
  ASSERT_TRUE(spare_.Take().ok());
  disk_.Remove("spare");
  disk_.Fill("flood");
  EXPECT_TRUE(IsDiskFull(spare_.Write(Path("state"), "x", GetParam())));
}

std::vector<Durability> WhereMountsAreAllowed() {
  return CanMount() ? std::vector{Durability::kProcess, Durability::kMachine} : std::vector<Durability>{};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpareFileTest);
INSTANTIATE_TEST_SUITE_P(Durabilities, SpareFileTest, testing::ValuesIn(WhereMountsAreAllowed()));

}  // namespace
}  // namespace glim
