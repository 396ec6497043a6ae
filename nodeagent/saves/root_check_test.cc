#include "nodeagent/saves/root_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

TEST(RootCheck, TheFirstMakesTheMarkerAndAllReadIt) {
  TempFolder root;
  const RootAnswer first = CheckRoot(root.path(), ".glim-root");
  EXPECT_EQ(first.error, "");
  EXPECT_EQ(first.marker.size(), kMarkerDigits);
  EXPECT_EQ(CheckRoot(root.path(), ".glim-root"), first);
  EXPECT_EQ(*ReadFile(root.path() + "/.glim-root", 100), first.marker + "\n");
  struct stat info {};
  ASSERT_EQ(::stat((root.path() + "/.glim-root").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u) << "users' programs read it, too";
}

TEST(RootCheck, OfManyAtOnceOneWins) {
  TempFolder root;
  std::vector<RootAnswer> answers(16);
  {
    std::vector<std::jthread> agents;
    for (RootAnswer& answer : answers) agents.emplace_back([&] { answer = CheckRoot(root.path(), "marker"); });
  }
  std::set<std::string> markers;
  for (const RootAnswer& answer : answers) {
    EXPECT_EQ(answer.error, "");
    markers.insert(answer.marker);
  }
  EXPECT_EQ(markers.size(), 1u);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1) << "nobody leaves a file behind";
}

TEST(RootCheck, AsRootItMakesTheFoldersOfAllUsersBeforeAUserDoes) {
  TempFolder root;
  if (::geteuid() != 0) {
    EXPECT_EQ(CheckRoot(root.path(), "marker").error, "");
    EXPECT_FALSE(std::filesystem::exists(root.path() + "/jobs")) << "it would be nobody's but its own";
    return;
  }
  const auto is = [&](const std::string& name) {
    struct stat info {};
    EXPECT_EQ(::stat((root.path() + "/" + name).c_str(), &info), 0) << name;
    return std::pair(info.st_uid, info.st_mode & 07777);
  };
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(CheckRoot(root.path(), "marker").error, "");
    EXPECT_EQ(is("jobs"), std::pair(0U, 0711U));
    EXPECT_EQ(is("snapshots"), std::pair(0U, 01733U));
  }
  ASSERT_EQ(::chmod((root.path() + "/jobs").c_str(), 01777), 0);
  EXPECT_EQ(CheckRoot(root.path(), "marker").error, "");
  EXPECT_EQ(is("jobs"), std::pair(0U, 01777U)) << "as the operator has it";
}

TEST(RootCheck, NeverMakesTheRoot) {
  TempFolder folder;
  const RootAnswer answer = CheckRoot(folder.path() + "/unmounted", "marker");
  EXPECT_EQ(answer.marker, "");
  EXPECT_EQ(answer.error, "cannot open " + folder.path() + "/unmounted: No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/unmounted"));
}

TEST(RootCheck, SaysWhatIsWrong) {
  TempFolder root;
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."), std::string(129, 'x')}) {
    EXPECT_NE(CheckRoot(root.path(), name).error.find("is no plain file name"), std::string::npos) << name;
  }
  EXPECT_NE(CheckRoot("relative", "marker").error.find("is no absolute path"), std::string::npos);
  std::ofstream(root.path() + "/marker") << "somebody's notes\n";
  const RootAnswer answer = CheckRoot(root.path(), "marker");
  EXPECT_EQ(answer.marker, "");
  EXPECT_NE(answer.error.find("does not hold 32 hexadecimal digits"), std::string::npos) << answer.error;
  std::filesystem::create_symlink("/etc/hostname", root.path() + "/link");
  EXPECT_NE(CheckRoot(root.path(), "link").error, "") << "links are not followed";
}

}  // namespace
}  // namespace glim::nodeagent
