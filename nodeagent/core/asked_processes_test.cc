#include "nodeagent/core/asked_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int32_t kInit = 1;

enum Does { kNothing = 0, kHandles = 1, kWaits = 2 };

TaskProcess Process(std::int32_t pid, std::int32_t parent, const char* program, int does, const char* command = "") {
  return {pid, parent, program, *command ? command : program, (does & kHandles) != 0, (does & kWaits) != 0};
}

struct Form {
  const char* name;
  std::vector<TaskProcess> processes;
  std::vector<std::int32_t> asked, stopped, above, beside;
};

class AskedForms : public ::testing::TestWithParam<Form> {};

// The rank's first process is 10.
TEST_P(AskedForms, TheProgramIsAskedAndNothingThatItNeeds) {
  const Form& form = GetParam();
  const AskedProcesses found = AskMain(form.processes, {10});
  EXPECT_EQ(found.asked, form.asked);
  EXPECT_EQ(found.stopped, form.stopped);
  EXPECT_EQ(found.above, form.above);
  EXPECT_EQ(found.beside, form.beside);
}

const Form kForms[] = {
    {"a program alone", {Process(10, kInit, "python3.11", kHandles)}, {10}, {}, {}, {}},
    {"a loader's workers, which handle the signal as well",
     {Process(10, kInit, "python3.11", kHandles), Process(11, 10, "python3.11", kHandles),
      Process(12, 10, "python3.11", kNothing)},
     {10},
     {},
     {},
     {}},
    {"a decoder behind a pipe",
     {Process(10, kInit, "python3.11", kHandles), Process(11, 10, "ffmpeg", kHandles)},
     {10},
     {},
     {},
     {}},
    {"a shell that goes on to another command",
     {Process(10, kInit, "bash", kWaits), Process(11, 10, "python3.11", kHandles)},
     {11},
     {10},
     {},
     {}},
    {"a pipeline into tee",
     {Process(10, kInit, "bash", kWaits), Process(11, 10, "python3.11", kHandles), Process(12, 10, "tee", kNothing)},
     {11},
     {10},
     {},
     {12}},
    {"a pipeline into a loop of the shell, which reads",
     {Process(10, kInit, "bash", kWaits), Process(11, 10, "python3.11", kHandles), Process(12, 10, "bash", kNothing)},
     {11},
     {10},
     {},
     {12}},
    {"timeout, which hands on to its whole group",
     {Process(10, kInit, "timeout", kHandles), Process(11, 10, "python3.11", kHandles),
      Process(12, 11, "python3.11", kNothing)},
     {11},
     {},
     {10},
     {}},
    {"xargs -P",
     {Process(10, kInit, "xargs", kWaits), Process(11, 10, "python3.11", kHandles),
      Process(12, 10, "python3.11", kHandles)},
     {12, 11},
     {10},
     {},
     {}},
    {"a shell with a trap that does the work itself",
     {Process(10, kInit, "bash", kHandles | kWaits), Process(11, 10, "sleep", kNothing)},
     {10},
     {},
     {},
     {}},
    {"a shell that cleans up at its end, or hands the signal on",
     {Process(10, kInit, "bash", kHandles | kWaits), Process(11, 10, "python3.11", kHandles)},
     {11},
     {10},
     {},
     {}},
    {"a command substitution: the shell reads, and would block the program's output if it was stopped",
     {Process(10, kInit, "bash", kNothing), Process(11, 10, "python3.11", kHandles)},
     {11},
     {},
     {10},
     {}},
    {"a launcher that hands on",
     {Process(10, kInit, "python3.11", kHandles, "torchrun train.py"),
      Process(11, 10, "python3.11", kHandles, "train.py"), Process(12, 10, "python3.11", kHandles, "train.py")},
     {10},
     {},
     {},
     {}},
    {"a launcher that knows nothing of signals",
     {Process(10, kInit, "python3.11", kWaits, "launch.py"), Process(11, 10, "python3.11", kHandles, "train.py"),
      Process(12, 11, "python3.11", kNothing, "train.py")},
     {11},
     {10},
     {},
     {}},
    {"a program in the background of a rank that waits for nothing",
     {Process(10, kInit, "tail", kNothing), Process(11, kInit, "python3.11", kHandles)},
     {11},
     {},
     {},
     {10}},
    {"a daemon beside a program of the rank is none of its programs",
     {Process(10, kInit, "python3.11", kHandles), Process(11, kInit, "raylet", kHandles)},
     {10},
     {},
     {},
     {11}},
    {"nothing handles it: all get it, in whatever group they are",
     {Process(10, kInit, "bash", kWaits), Process(11, 10, "timeout", kNothing), Process(12, 11, "a.out", kNothing)},
     {10, 11, 12},
     {},
     {},
     {}}};

INSTANTIATE_TEST_SUITE_P(Programs, AskedForms, ::testing::ValuesIn(kForms), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(AskedProcesses, EachRankHasItsPrograms) {
  const std::vector<TaskProcess> processes = {Process(10, kInit, "python3.11", kHandles),
                                              Process(20, kInit, "bash", kWaits),
                                              Process(21, 20, "python3.11", kHandles)};
  const AskedProcesses found = AskMain(processes, {10, 20});
  EXPECT_THAT(found.asked, UnorderedElementsAre(10, 21));
  EXPECT_THAT(found.stopped, ElementsAre(20));
}

TEST(AskedProcesses, ARankWhoseFirstProcessHasEndedIsFoundByItsOrphans) {
  const AskedProcesses found = AskMain({Process(30, kInit, "python3.11", kHandles)}, {});
  EXPECT_THAT(found.asked, ElementsAre(30));
}

TEST(AskedProcesses, ParentsAreStoppedBeforeTheirChildren) {
  const std::vector<TaskProcess> processes = {Process(12, 11, "python3.11", kHandles), Process(11, 10, "sh", kWaits),
                                              Process(10, kInit, "bash", kWaits)};
  EXPECT_THAT(AskMain(processes, {10}).stopped, ElementsAre(10, 11));
}

TEST(AskedProcesses, NoProcessIsInTwoLists) {
  const std::vector<TaskProcess> processes = {
      Process(10, kInit, "bash", kWaits),         Process(11, 10, "timeout", kHandles),
      Process(12, 11, "bash", kHandles | kWaits), Process(13, 12, "python3.11", kHandles),
      Process(14, 13, "tee", kNothing),           Process(15, 10, "tee", kNothing)};
  const AskedProcesses found = AskMain(processes, {10});
  EXPECT_THAT(found.asked, ElementsAre(13));
  EXPECT_THAT(found.stopped, ElementsAre(10, 12));
  EXPECT_THAT(found.above, ElementsAre(11));
  EXPECT_THAT(found.beside, ElementsAre(15));
  EXPECT_THAT(found.helpers, ElementsAre(14));
}

TEST(AskedProcesses, AskAllLeavesNobodyOut) {
  const AskedProcesses found = AskAll({Process(10, kInit, "bash", kWaits), Process(11, 10, "python3.11", kHandles)});
  EXPECT_THAT(found.asked, ElementsAre(10, 11));
  EXPECT_THAT(found.stopped, IsEmpty());
  EXPECT_THAT(found.beside, IsEmpty());
}

TEST(AskedProcesses, ALauncherThatKeepsTheSignalToItselfIsHelpedLater) {
  const std::vector<TaskProcess> processes = {Process(10, kInit, "python3.11", kHandles, "launch.py"),
                                              Process(11, 10, "python3.11", kHandles, "launch.py"),
                                              Process(12, 10, "python3.11", kHandles, "train.py"),
                                              Process(13, 12, "python3.11", kHandles, "-c spawn_main"),
                                              Process(14, 10, "ffmpeg", kHandles, "ffmpeg"),
                                              Process(15, 10, "python3.11", kNothing, "-c resource_tracker")};
  EXPECT_THAT(AskLate(processes, {10}), ElementsAre(12)) << "no fork of its own, no other program, none of its helpers";
  EXPECT_THAT(AskLate(processes, {99}), IsEmpty()) << "it has ended";
}

}  // namespace
}  // namespace glim::nodeagent
