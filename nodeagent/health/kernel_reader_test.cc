// The kernel's log over time: once, in order, and what is missing in it.
#include "nodeagent/health/kernel_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::IsEmpty;

std::string Record(int seq, const std::string& text, int facility = 0, std::int64_t usec = 1) {
  return std::to_string(facility * 8 + 3) + "," + std::to_string(seq) + "," + std::to_string(usec) + ",-;" + text;
}

std::string XidLine(int number, const std::string& bus = "3b") {
  return "NVRM: Xid (PCI:0000:" + bus + ":00): " + std::to_string(number) + ", pid=7, words";
}

std::vector<std::string> Told(const std::vector<Finding>& findings) {
  std::vector<std::string> told;
  for (const Finding& f : findings) {
    told.push_back(f.check + " " + f.device + " " + std::to_string(f.code) + " " + std::to_string(f.value));
  }
  return told;
}

TEST(KernelReader, TellsAFaultSoonAndItsLinesAsOne) {
  KernelReader reader({});
  EXPECT_FALSE(reader.NextDue());
  reader.Read(Record(1, XidLine(79)), 1000);
  reader.Read(Record(2, XidLine(79)), 1010);
  reader.Read(Record(3, XidLine(79, "5e")), 1020);
  EXPECT_EQ(reader.NextDue(), 1100);
  EXPECT_THAT(reader.Due(1099), IsEmpty());
  EXPECT_THAT(Told(reader.Due(1100)), testing::ElementsAre("xid 0000:3b:00.0 79 2"));
  EXPECT_THAT(Told(reader.Due(1120)), testing::ElementsAre("xid 0000:5e:00.0 79 1"));
  reader.Read(Record(4, XidLine(79)), 1999);  // the same second: known
  EXPECT_THAT(reader.Due(2100), IsEmpty());
  reader.Read(Record(5, XidLine(79)), 2200);
  EXPECT_THAT(Told(reader.Due(2300)), testing::ElementsAre("xid 0000:3b:00.0 79 1"));
}

TEST(KernelReader, ADiskThatFailsIsToldOnceAMinute) {
  KernelReader reader({});
  int told = 0, seq = 0;
  for (std::int64_t now = 0; now < 180'000; now += 50) {
    reader.Read(Record(++seq, "I/O error, dev sda, sector 1"), now);
    told += static_cast<int>(reader.Due(now).size());
  }
  EXPECT_EQ(told, 3);
}

TEST(KernelReader, OnlyTheKernelCounts) {
  KernelReader reader({});
  reader.Read(Record(1, XidLine(79), /*facility=*/1), 0);  // a program that writes to /dev/kmsg
  EXPECT_THAT(reader.Due(1000), IsEmpty());
  EXPECT_EQ(reader.position(), 1u);
}

TEST(KernelReader, GoesOnWhereItWasAndTellsAGap) {
  KernelReader reader({.after = 10});
  reader.Read(Record(9, XidLine(79)), 0);
  reader.Read(Record(10, XidLine(79)), 0);
  EXPECT_THAT(reader.Due(1000), IsEmpty()) << "told before";
  reader.Read(Record(11, XidLine(48)), 2000);
  EXPECT_EQ(reader.position(), std::nullopt) << "it is not told yet";
  EXPECT_THAT(Told(reader.Due(2100)), testing::ElementsAre("xid 0000:3b:00.0 48 1"));
  EXPECT_EQ(reader.position(), 11u);
  reader.Read(Record(20, "words"), 3000);
  EXPECT_THAT(Told(reader.Due(3100)), testing::ElementsAre("kernel_lines_lost  0 8"));
}

TEST(KernelReader, TheFirstRecordOfAllIsNoGap) {
  KernelReader reader({});
  reader.Read(Record(500, "words"), 0);
  EXPECT_THAT(reader.Due(1000), IsEmpty());
}

TEST(KernelReader, WithoutAPlaceOldLinesAreNotTold) {
  KernelReader reader({.oldest_usec = 5'000'000});
  reader.Read(Record(1, XidLine(79), 0, 4'999'999), 0);
  reader.Read(Record(2, XidLine(48), 0, 5'000'000), 0);
  EXPECT_THAT(Told(reader.Due(1000)), testing::ElementsAre("xid 0000:3b:00.0 48 1"));
}

TEST(KernelReader, APipesNumbersDoNotMatter) {
  KernelReader reader({.numbered = false});
  reader.Read(Record(5, XidLine(79)), 0);
  reader.Read(Record(5, XidLine(48)), 0);
  reader.Read(Record(1, XidLine(74)), 0);
  EXPECT_EQ(reader.Due(1000).size(), 3u);
}

TEST(KernelReader, MemoryErrorsThatAreCountedAreNotReadToo) {
  const std::string line = "EDAC MC0: 1 CE memory read error on DIMM_A1 (channel:0)";
  KernelReader counted({.memory_counters = true}), uncounted({});
  counted.Read(Record(1, line), 0);
  uncounted.Read(Record(1, line), 0);
  EXPECT_THAT(counted.Due(1000), IsEmpty());
  EXPECT_EQ(uncounted.Due(1000).size(), 1u);
}

}  // namespace
}  // namespace glim::nodeagent::health
