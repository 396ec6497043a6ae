// What glim-health hears of disks: a script stands for smartctl, and a tree of files for the machine.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "nodeagent/os/processes.h"
#include "nodeagent/programs/health/testing/health_child.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent::health {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kFails = R"({"smart_status": {"passed": false}})";
constexpr const char* kWell = R"({"smart_status": {"passed": true}})";
constexpr const char* kWorn = R"({"smart_status": {"passed": true, "nvme": {"value": 0}},
  "nvme_smart_health_information_log": {"critical_warning": 0, "available_spare": 90, "available_spare_threshold": 10,
  "percentage_used": 120}})";

class HealthSmart : public testing::Test {
 protected:
  // It notes how it is called, and does what says/DISK has for it.
  HealthSmart() : smartctl_(child_.Folder() + "/smartctl") {
    child_.Put("../smartctl", "#!/bin/sh\nfor last; do :; done\necho \"$@\" >> '" + child_.Folder() + "/calls'\n. '" +
                                  child_.Root() + "/says/'\"${last##*/}\"\n");
    EXPECT_EQ(::chmod(smartctl_.c_str(), 0700), 0);
  }

  void PutDisk(const std::string& name, const std::string& script) {
    child_.Put("sys/block/" + name + "/removable", "0\n");
    child_.Put("sys/block/" + name + "/device/vendor", "ATA\n");
    Say(name, script);
  }
  // At once: the script may be asked meanwhile.
  void Say(const std::string& name, const std::string& script) {
    std::filesystem::create_directories(child_.Root() + "/says");
    ASSERT_TRUE(WriteFileAtomically(child_.Root() + "/says/" + name, script + "\n", Durability::kProcess).ok());
  }
  static std::string Echo(const std::string& document) { return "echo '" + document + "'"; }
  // Asked all the time; a turn is some milliseconds, and a question has two seconds.
  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--smartctl", smartctl_, "--smart-every", "2", "--hurry", "100"};
    words.insert(words.end(), more.begin(), more.end());
    child_.Start(words);
  }
  std::vector<std::string> Calls() const {
    const Result<std::string> text = ReadFile(child_.Folder() + "/calls", 1 << 20);
    std::vector<std::string> calls;
    for (std::size_t at = 0, end = 0; text.ok() && (end = text->find('\n', at)) != std::string::npos; at = end + 1) {
      calls.push_back(text->substr(at, end - at));
    }
    return calls;
  }
  bool IsSaid(const std::string& words) const {
    return Eventually([&] { return !child_.Words().empty() && child_.Words().back().ends_with(words); });
  }

  HealthChild child_;
  const std::string smartctl_;
};

TEST_F(HealthSmart, DisksThatFailAndDisksThatAreWorn) {
  PutDisk("sda", Echo(kFails));
  PutDisk("nvme0n1", Echo(kWorn));
  PutDisk("sdb", Echo(kFails));
  child_.Put("sys/block/sdb/removable", "1\n");
  PutDisk("nvme0c0n1", Echo(kFails));
  child_.Put("sys/block/nvme0c0n1/hidden", "1\n");
  child_.Put("sys/block/loop0/removable", "0\n");
  Start();
  const auto failing = child_.Condition("disk_failing", "sda");
  ASSERT_TRUE(failing);
  EXPECT_THAT(failing->finding.text, HasSubstr("it fails"));
  ASSERT_TRUE(child_.Condition("disk_worn", "nvme0n1"));
  Say("sda", Echo(kWell));
  EXPECT_TRUE(child_.IsOver("disk_failing", "sda"));
  std::filesystem::remove_all(child_.Root() + "/sys/block/nvme0n1");
  EXPECT_TRUE(child_.IsOver("disk_worn", "nvme0n1")) << "it was taken out";
  std::vector<std::string> calls = Calls();
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  const std::string devices = "--json=c -H -A " + child_.Root() + "/dev/";
  EXPECT_THAT(calls, ElementsAre(devices + "nvme0n1", devices + "sda"));
  EXPECT_THAT(child_.Words(), IsEmpty());
}

TEST_F(HealthSmart, ARestartTakesNothingBack) {
  PutDisk("sda", Echo(kFails));
  Start();
  ASSERT_TRUE(child_.Condition("disk_failing", "sda"));
  child_.End(SIGTERM);
  Say("sda", "exit 1");
  Start();
  ASSERT_TRUE(child_.IsComplete());
  EXPECT_TRUE(child_.Find(HealthLine::Kind::kCondition, "disk_failing", "sda")) << "before anybody was asked";
  EXPECT_TRUE(IsSaid("what it says is no JSON document"));
  EXPECT_FALSE(child_.Find(HealthLine::Kind::kConditionOver, "disk_failing", "sda")) << "nor by a disk that is silent";
}

TEST_F(HealthSmart, ADiskThatHangsHoldsUpNothing) {
  PutDisk("sda", "sleep 600");
  PutDisk("sdb", Echo(kFails));
  child_.MakePipe();
  Start();
  ASSERT_TRUE(Eventually([&] { return !Calls().empty(); }));
  child_.Say("NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.");
  EXPECT_TRUE(child_.Event("xid", "0000:3b:00.0"));
  EXPECT_TRUE(child_.IsComplete());
  EXPECT_TRUE(child_.Condition("disk_failing", "sdb"));
  EXPECT_THAT(child_.Words(), ElementsAre(AllOf(HasSubstr("sda"), HasSubstr("has not answered within 2000 ms"))));
  EXPECT_FALSE(child_.Find(HealthLine::Kind::kCondition, "health_blind", "disk health"));
  Say("sda", Echo(kFails));
  EXPECT_TRUE(child_.Condition("disk_failing", "sda")) << "it answers again";
}

TEST_F(HealthSmart, WhoMakesNoSenseIsToldOnce) {
  PutDisk("sda", "echo 'sda: [ok'");
  PutDisk("sdb", "yes 'so much to say'");
  PutDisk("vda", Echo(R"({"smartctl": {"messages": [{"string": "/dev/vda: Unable to detect device type"}]}})"));
  Start();
  ASSERT_TRUE(Eventually([&] { return Calls().size() >= 9; })) << "three times each";
  EXPECT_THAT(child_.Words(),
              UnorderedElementsAre(HasSubstr("sda says of itself is not known: what it says is no JSON"),
                                   HasSubstr("sdb says of itself is not known: smartctl says too much"),
                                   HasSubstr("vda says of itself is not known: /dev/vda: Unable to")));
  for (const HealthLine& line : child_.Lines()) EXPECT_NE(line.kind, HealthLine::Kind::kCondition);
}

TEST_F(HealthSmart, WithoutSmartctlItSaysSoOnce) {
  PutDisk("sda", Echo(kFails));
  PutDisk("sdb", Echo(kFails));
  Start({"--smartctl", smartctl_ + "-of-another-place"});
  EXPECT_TRUE(IsSaid("(Debian's package smartmontools)"));
  EXPECT_TRUE(child_.IsComplete());
  EXPECT_THAT(Calls(), IsEmpty());
  child_.End(SIGTERM);
  EXPECT_EQ(child_.Words().size(), 1u);
}

// It may ask disks and nothing else, and is gone with the one that started it.
TEST_F(HealthSmart, WhoAsksHasTwoRights) {
  PutDisk("sda", "grep -h CapEff: /proc/self/status > '" + child_.Folder() + "/rights'\necho $PPID > '" +
                     child_.Folder() + "/helper'\n" + Echo(kFails));
  Start({"--smart-every", "9000"});
  ASSERT_TRUE(child_.Condition("disk_failing", "sda"));
  const Result<std::string> rights = ReadFile(child_.Folder() + "/rights", 1000);
  ASSERT_TRUE(rights.ok());
  EXPECT_THAT(*rights, HasSubstr(::geteuid() == 0 ? "0000000000220000" : "0000000000000000"));
  const Result<std::string> helper = ReadFile(child_.Folder() + "/helper", 1000);
  ASSERT_TRUE(helper.ok());
  const pid_t pid = std::stoi(*helper);
  ASSERT_NE(pid, child_.pid());
  const auto is_there = [&] {
    const auto process = ReadProcess(pid);
    return process && !process->gone;
  };
  EXPECT_TRUE(is_there());
  child_.End(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return !is_there(); }));
}

}  // namespace
}  // namespace glim::nodeagent::health
