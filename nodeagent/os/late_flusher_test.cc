#include "nodeagent/os/late_flusher.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace glim::nodeagent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(LateFlusher, FlushesInOrderAndHoldsNobodyUp) {
  std::vector<std::string> flushed;
  std::promise<void> disk, all;
  auto answers = disk.get_future();
  LateFlusher flusher(milliseconds(1), [&](const std::string& path) {
    if (flushed.empty()) answers.wait();  // the disk hangs
    flushed.push_back(path);
    if (flushed.size() == 3) all.set_value();
  });
  for (const char* path : {"a", "b", "c"}) flusher.Push(path);
  disk.set_value();
  all.get_future().wait();
  EXPECT_EQ(flushed, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(LateFlusher, ItsEndDropsWhatIsNotDue) {
  int flushed = 0;
  {
    LateFlusher flusher(hours(1), [&](const std::string&) { ++flushed; });
    flusher.Push("a");
  }
  EXPECT_EQ(flushed, 0);
}

TEST(LateFlusher, AFileThatIsGoneIsLeftAlone) {
  LateFlusher::FlushFileAndFolder("/nonexistent/status.json");
  LateFlusher::FlushFileAndFolder("/proc/self/exe");
}

}  // namespace
}  // namespace glim::nodeagent
