// A folder is measured, and nothing is left in it.
#include "nodeagent/programs/validate/disk_part.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sdk/io/testing/temp_folder.h"

namespace glim::validate {
namespace {

TEST(ADisk, IsWrittenReadAndSynced) {
  const TempFolder folder;
  const Readings readings = MeasureDisk({.parts = {}, .folders = {folder.path()}, .rendezvous = {}});
  ASSERT_TRUE(readings.ok()) << readings.status().message();
  ASSERT_EQ(readings->size(), 3u);
  const char* const whats[] = {"write", "read", "fsync"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Reading& reading = (*readings)[i];
    EXPECT_EQ(reading.what, whats[i]);
    EXPECT_EQ(reading.device, folder.path());
    EXPECT_GT(reading.value, 0) << reading.what;
    EXPECT_EQ(reading.wrong, "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(AFolder, ThatIsNotThereIsAnErrorAndNotASlowDisk) {
  const Readings readings = MeasureDisk({.parts = {}, .folders = {"/no/such/folder"}, .rendezvous = {}});
  EXPECT_FALSE(readings.ok());
  EXPECT_NE(readings.status().message().find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace glim::validate
