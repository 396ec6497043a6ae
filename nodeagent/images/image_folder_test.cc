#include "nodeagent/images/image_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

class ImageFolderTest : public ::testing::Test {
 protected:
  // Used so many seconds after 1970.
  void Keep(const std::string& key, int used) {
    std::ofstream(folder_.PartOf(key)) << std::string(1000, 'x');
    ImageFacts facts;
    facts.shell = "/bin/sh";
    facts.env = {{"PATH", "/bin"}};
    ASSERT_TRUE(folder_.Keep(key, facts).ok());
    const timespec times[2] = {{used, 0}, {used, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder_.FileOf(key).c_str(), times, 0), 0);
  }

  const TempFolder temp_;
  const std::string path_ = temp_.path();
  const ImageFolder folder_{path_};
};

TEST_F(ImageFolderTest, HasAnImageThatWasKeptWithWhatIsKnownOfIt) {
  EXPECT_FALSE(folder_.Use("a"));
  Keep("a", 1);
  const auto facts = folder_.Use("a");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->shell, "/bin/sh");
  EXPECT_EQ(facts->env.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder_.PartOf("a")));
}

TEST_F(ImageFolderTest, AHalfImportIsNoImageAndIsSwept) {
  std::ofstream(folder_.PartOf("a")) << "half";
  std::ofstream(folder_.WorkOf("a")) << "half";
  EXPECT_FALSE(folder_.Use("a"));
  EXPECT_GT(folder_.BytesUnderWay("a"), 0u);
  folder_.Sweep("a");
  EXPECT_EQ(folder_.BytesUnderWay("a"), 0u);
}

TEST_F(ImageFolderTest, WhatNobodyIsAtIsSweptWhenAnAgentStarts) {
  for (const char* key : {"left", "busy"}) {
    std::ofstream(folder_.PartOf(key)) << "half";
    std::ofstream(folder_.LockOf(key)) << "";
  }
  const UniqueFd lock(::open(folder_.LockOf("busy").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  folder_.SweepAll();
  EXPECT_EQ(folder_.BytesUnderWay("left"), 0u);
  EXPECT_GT(folder_.BytesUnderWay("busy"), 0u);
}

TEST_F(ImageFolderTest, WhatWasNotUsedForLongestGoesFirst) {
  Keep("old", 1);
  Keep("new", 3);
  Keep("used", 2);
  ASSERT_TRUE(folder_.Use("old"));  // now
  folder_.MakeRoom(2000);
  EXPECT_FALSE(folder_.Use("used"));
  EXPECT_TRUE(folder_.Use("old"));
  EXPECT_TRUE(folder_.Use("new"));
  folder_.MakeRoom(0);
  EXPECT_TRUE(std::filesystem::is_empty(path_));
}

TEST(ImageWords, ComeBackAsTheyWent) {
  ImageOrder order;
  order.image = "oci:/data/torch:2.6";
  order.real = "/srv/data/torch";
  order.rules = {{"/srv"}, "/var/lib/glim-agent", {1000, 1000, {7}}};
  order.folder = "/images";
  order.progress = "/images/1.progress";
  order.registries = {"http://registry.lan"};
  order.bounds = {1, 2, 3};
  const Result<ImageOrder> read = ParseImageOrder(ToJson(order));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ToJson(*read), ToJson(order));
  const ImageAnswer no = NoImage(InvalidArgument("image", "it is none", "use another"));
  const Result<ImageAnswer> told = ParseImageAnswer(ToJson(no));
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_EQ(told->fault, StartFault::kJob);
  EXPECT_EQ(told->message, no.message);
  EXPECT_FALSE(ParseImageAnswer("").ok());
  EXPECT_FALSE(ParseImageAnswer("{}").ok());
  EXPECT_FALSE(ParseImageOrder(R"({"image":7})").ok());
}

}  // namespace
}  // namespace glim::nodeagent
