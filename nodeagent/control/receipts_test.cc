// An agent keeps what proves that its tasks were launched by the scheduler.
#include "nodeagent/control/receipts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace glim::nodeagent {
namespace {

class ReceiptsTest : public ::testing::Test {
 protected:
  static void Add(v1::DesiredState* set, const TaskKey& key, const std::string& receipt) {
    v1::DesiredTask& task = *set->add_tasks();
    task.mutable_attempt()->set_job_id(key.job);
    task.mutable_attempt()->set_number(key.attempt);
    task.set_index(key.index);
    task.set_receipt(receipt);
  }
  static bool Nobody(const TaskKey&) { return false; }
  ReceiptsTest() {
    std::string name = ::testing::TempDir() + "receipts-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ReceiptsTest() override { std::filesystem::remove_all(folder_); }
  const std::string& state_dir() const { return folder_; }
  std::string folder_;
};

TEST_F(ReceiptsTest, OutliveTheAgentAndTheScheduler) {
  const TaskKey old{7, 1, 0}, newer{9, 2, 1};
  {
    Receipts receipts(state_dir());
    v1::DesiredState set;
    Add(&set, old, "of-old");
    Add(&set, newer, "of-newer");
    receipts.Take(set, Nobody);
    EXPECT_EQ(receipts.Of(old), "of-old");
  }
  Receipts receipts(state_dir());
  EXPECT_EQ(receipts.Of(newer), "of-newer");
  // A scheduler that was put back lists none of them: what is there keeps its receipt, what is gone needs none.
  receipts.Take({}, [&](const TaskKey& key) { return key == old; });
  EXPECT_EQ(receipts.Of(old), "of-old");
  EXPECT_EQ(receipts.Of(newer), "");
  EXPECT_EQ(Receipts(state_dir()).Of(old), "of-old");
}

TEST_F(ReceiptsTest, TheHighestJobsIsKeptForEver) {
  {
    Receipts receipts(state_dir());
    v1::Hello hello;
    receipts.Introduce(&hello);
    EXPECT_FALSE(hello.has_highest_launch());
    v1::DesiredState set;
    Add(&set, {9, 2, 1}, "of-nine");
    receipts.Take(set, Nobody);
    v1::DesiredState lower;
    Add(&lower, {8, 1, 0}, "of-eight");
    receipts.Take(lower, Nobody);
  }
  v1::Hello hello;
  Receipts(state_dir()).Introduce(&hello);
  EXPECT_EQ(hello.highest_launch().attempt().job_id(), 9u);
  EXPECT_EQ(hello.highest_launch().attempt().number(), 2u);
  EXPECT_EQ(hello.highest_launch().index(), 1u);
  EXPECT_EQ(hello.highest_launch().receipt(), "of-nine");
}

TEST_F(ReceiptsTest, AFileThatCannotBeUsedIsSetAside) {
  std::ofstream(state_dir() + "/receipts.json") << "{";
  Receipts receipts(state_dir());
  EXPECT_EQ(receipts.Of({7, 1, 0}), "");
  EXPECT_FALSE(std::filesystem::exists(state_dir() + "/receipts.json"));
}

}  // namespace
}  // namespace glim::nodeagent
