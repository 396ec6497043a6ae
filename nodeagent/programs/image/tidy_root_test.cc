#include "nodeagent/programs/image/tidy_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::HasSubstr;

class TidyRootTest : public ::testing::Test {
 protected:
  TidyRootTest() { std::filesystem::create_directories(root_ + "/usr/bin"); }

  void Make(const std::string& name, mode_t mode, const std::string& text = "") {
    std::ofstream(root_ + "/" + name) << text;
    ASSERT_EQ(::chmod((root_ + "/" + name).c_str(), mode), 0);
  }
  mode_t ModeOf(const std::string& name) const {
    struct stat info {};
    return ::lstat((root_ + "/" + name).c_str(), &info) == 0 ? info.st_mode : 0;
  }

  const TempFolder temp_;
  const std::string root_ = temp_.path();
};

TEST_F(TidyRootTest, LetsATaskOfAnyUserReadFilesAndWriteInFolders) {
  Make("usr/bin/dash", 0700);
  std::filesystem::create_symlink("/usr/bin/dash", root_ + "/usr/bin/sh");
  std::filesystem::create_symlink("usr/bin", root_ + "/bin");
  std::filesystem::create_directory(root_ + "/root");
  Make("root/secret", 0600);
  Make("usr/bin/su", 04755);
  ASSERT_EQ(::chmod((root_ + "/root").c_str(), 0000), 0);
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  const Result<ImageFacts> facts = TidyRoot(root_);
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->shell, "/bin/sh") << "a link to an absolute path leads into the image";
  EXPECT_EQ(ModeOf("root") & 07777, 0777u);
  EXPECT_EQ(ModeOf("root/secret") & 07777, 0644u);
  EXPECT_EQ(ModeOf("usr/bin/dash") & 07777, 0755u);
  EXPECT_EQ(ModeOf("usr/bin/su") & 07777, 0755u);
  EXPECT_EQ(ModeOf("pipe"), 0u);
  for (const char* folder : {"dev", "etc", "proc", "run", "sys", "tmp", "var/tmp"}) {
    EXPECT_TRUE(S_ISDIR(ModeOf(folder))) << folder;
  }
}

TEST_F(TidyRootTest, LinksInThePlaceOfWhatIsMountedAreReplaced) {
  Make("usr/bin/bash", 0755);
  std::filesystem::create_symlink("usr/bin", root_ + "/bin");
  std::filesystem::create_symlink("/etc", root_ + "/run");
  std::filesystem::create_directories(root_ + "/etc/hosts/folder");
  std::filesystem::create_directory(root_ + "/real");
  Make("real/passwd", 0644, "root:x:0:0::/root:/bin/sh\n");
  std::filesystem::create_symlink("../real/passwd", root_ + "/etc/passwd");
  const Result<ImageFacts> unfit = TidyRoot(root_);
  EXPECT_FALSE(unfit.ok()) << "a folder that is not empty in the place of a file";
  std::filesystem::remove_all(root_ + "/etc/hosts");
  const Result<ImageFacts> facts = TidyRoot(root_);
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->shell, "/bin/bash");
  EXPECT_EQ(facts->passwd, "") << "it was replaced by the first look";
  EXPECT_TRUE(S_ISDIR(ModeOf("run")));
  EXPECT_TRUE(S_ISREG(ModeOf("etc/passwd")));
  EXPECT_TRUE(S_ISREG(ModeOf("etc/resolv.conf")));
}

TEST_F(TidyRootTest, WithoutAShellNothingCanRun) {
  const Result<ImageFacts> facts = TidyRoot(root_);
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.status().field(), "image");
  EXPECT_THAT(facts.status().message(), HasSubstr("no /bin/sh"));
}

}  // namespace
}  // namespace glim::nodeagent
