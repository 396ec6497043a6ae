// No program is built with the planted bugs: the switch is given by one test library alone, and here it is off.
#include "scheduler/core/model/planted.h"
#include "sdk/base/testing/folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace glim::core {
namespace {

static_assert(!Planted(PlantedBug::kLostRelease) && !Planted(PlantedBug::kNone), "constant, and false");

TEST(PlantedBugs, OnlyTheSimulatorsOwnTestHasThem) {
  namespace fs = std::filesystem;
  std::set<std::string> givers;
  const fs::path root = SourceFile("");
  for (const char* part : {"scheduler", "nodeagent", "cli", "proto", "sdk", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      if (text.str().find("GLIM_PLANTED_BUGS") != std::string::npos) givers.insert(fs::relative(entry.path(), root));
    }
  }
  EXPECT_EQ(givers, std::set<std::string>{"scheduler/sim/CMakeLists.txt"});
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json"}) {
    std::ostringstream text;
    text << std::ifstream(root / file).rdbuf();
    EXPECT_EQ(text.str().find("GLIM_PLANTED_BUGS"), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace glim::core
