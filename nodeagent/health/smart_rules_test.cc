// What a disk says of itself, and from when on it fails or is worn.
#include "nodeagent/health/smart_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "check: text" of each condition.
std::vector<std::string> Said(const Looks& looks) {
  std::vector<std::string> said;
  for (const Finding& finding : looks.conditions) said.push_back(finding.check + ": " + finding.text);
  return said;
}
std::vector<std::string> Said(const SmartReading& reading) { return Said(LookAtDisk("sda", reading)); }

TEST(SmartRules, ADiskByItsOwnVerdict) {
  EXPECT_THAT(Said(SmartReading{}), IsEmpty()) << "who says nothing accuses nobody";
  EXPECT_THAT(Said({.passed = 1, .reallocated = 0, .pending = 0, .uncorrectable = 0}), IsEmpty());
  EXPECT_THAT(Said({.passed = 0}), ElementsAre("disk_failing: by its own verdict it fails or is about to"));
  EXPECT_THAT(Said({.passed = 0, .sense = 0x5d, .sense_more = 0x10}),
              ElementsAre("disk_failing: by its own verdict it fails or is about to (sense code 93/16)"));
  EXPECT_THAT(Said({.passed = 0, .sense = 0x0b, .sense_more = 0x01}), IsEmpty()) << "it is hot, and that passes";
}

TEST(SmartRules, WhatNvmeWarnsOf) {
  const std::pair<std::int64_t, const char*> kBits[] = {
      {0x01, "its spare blocks run out"},
      {0x04, "it is not reliable any more"},
      {0x08, "it takes no more writes"},
      {0x10, "what saves its volatile memory has failed"},
      {0x20, "its persistent memory is not reliable any more"},
      {0x40, "critical warning 64"},
      {0x0e, "it is not reliable any more, it takes no more writes"},
  };
  for (const auto& [bits, words] : kBits) {
    EXPECT_THAT(Said({.passed = 0, .warning = bits}), ElementsAre(std::string("disk_failing: ") + words)) << bits;
  }
  EXPECT_THAT(Said({.passed = 1, .warning = 0}), IsEmpty());
  EXPECT_THAT(Said({.passed = 0, .warning = 0x02}), IsEmpty()) << "it is hot, and smartctl calls that failed";
}

TEST(SmartRules, SpareBlocks) {
  EXPECT_THAT(Said({.spare = 10, .spare_least = 10}), IsEmpty());
  EXPECT_THAT(Said({.spare = 9, .spare_least = 10}),
              ElementsAre("disk_failing: 9 % of its spare blocks are left, 10 % are the least"));
  EXPECT_THAT(Said({.spare = 0, .spare_least = 0}), IsEmpty()) << "as a cloud's disks say";
}

TEST(SmartRules, WornIsNotFailing) {
  EXPECT_THAT(Said({.passed = 1, .warning = 0, .used = 99}), IsEmpty());
  EXPECT_THAT(Said({.passed = 1, .warning = 0, .used = 100}),
              ElementsAre("disk_worn: 100 % of the life that it was made for are used"));
  EXPECT_THAT(Said({.passed = 1, .warning = 0, .media_errors = 0}), IsEmpty());
  EXPECT_THAT(
      Said({.passed = 1, .warning = 0, .used = 100, .media_errors = 2}),
      ElementsAre(
          "disk_worn: 100 % of the life that it was made for are used, errors in data that it could not mend: 2"));
  EXPECT_THAT(Said({.passed = 1, .reallocated = 1}), ElementsAre("disk_worn: sectors replaced: 1"));
  EXPECT_THAT(Said({.passed = 1, .reallocated = 3, .pending = 2, .uncorrectable = 1}),
              ElementsAre("disk_worn: sectors replaced: 3, sectors that cannot be read: 2, sectors lost: 1"));
  EXPECT_THAT(Said({.passed = 0, .pending = 8}), ElementsAre("disk_failing: by its own verdict it fails or is about to",
                                                             "disk_worn: sectors that cannot be read: 8"));
}

TEST(SmartRules, TheLastReadingIsKept) {
  Memory memory;
  KeepReading("sda", {.passed = 0, .pending = 2}, memory);
  KeepReading("sdaa", {.passed = 0}, memory);
  const Looks looks = LookAtKeptReadings({"sda", "sdb"}, memory);
  ASSERT_THAT(Said(looks), ElementsAre("disk_failing: by its own verdict it fails or is about to",
                                       "disk_worn: sectors that cannot be read: 2"));
  EXPECT_EQ(looks.conditions[0].device, "sda");
  KeepReading("sda", {}, memory);
  EXPECT_EQ(LookAtKeptReadings({"sda"}, memory).conditions, looks.conditions) << "a disk that is silent is no better";
  EXPECT_THAT(Said(LookAtKeptReadings({"sda", "sdaa"}, memory)).size(), 2u) << "it was gone: another one may come";
  KeepReading("sda", {.passed = 1}, memory);
  EXPECT_THAT(LookAtKeptReadings({"sda"}, memory).conditions, IsEmpty());
  EXPECT_THAT(LookAtKeptReadings({}, memory).conditions, IsEmpty());
  EXPECT_THAT(memory, IsEmpty());
}

}  // namespace
}  // namespace glim::nodeagent::health
