// What smartctl's documents say, cut down to what is read.
#include "nodeagent/health/wire/smart_document.h"

#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

SmartReading ReadingOf(const std::string& text) {
  const Result<SmartReading> reading = ParseSmartDocument(text);
  EXPECT_TRUE(reading.ok()) << text;
  return reading.ok() ? *reading : SmartReading{};
}

std::string WhyNot(const std::string& text) {
  const Result<SmartReading> reading = ParseSmartDocument(text);
  return reading.ok() ? "it is one" : reading.status().message();
}

TEST(SmartDocument, OfAnNvmeDisk) {
  const SmartReading reading = ReadingOf(R"({"smartctl": {"version": [7, 3], "exit_status": 8},
    "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
    "smart_status": {"passed": false, "nvme": {"value": 4, "reliability_degraded": true}},
    "nvme_smart_health_information_log": {"critical_warning": 4, "temperature": 41, "available_spare": 97,
      "available_spare_threshold": 10, "percentage_used": 103, "media_errors": 17}})");
  EXPECT_EQ(reading,
            (SmartReading{.passed = 0, .warning = 4, .spare = 97, .spare_least = 10, .used = 103, .media_errors = 17}));
}

TEST(SmartDocument, OfAnAtaDisk) {
  const SmartReading reading = ReadingOf(R"json({"device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "smart_status": {"passed": true}, "ata_smart_attributes": {"revision": 16, "table": [
      {"id": 1, "name": "Raw_Read_Error_Rate", "raw": {"value": 88, "string": "88"}},
      {"id": 5, "name": "Reallocated_Sector_Ct", "thresh": 10, "raw": {"value": 8589934595, "string": "3 (2 0)"}},
      {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 8}},
      {"id": 198, "name": "Offline_Uncorrectable", "raw": {"value": 0, "string": "0"}}]}})json");
  EXPECT_EQ(reading, (SmartReading{.passed = 1, .reallocated = 3, .pending = 8, .uncorrectable = 0}));
}

TEST(SmartDocument, OfAScsiDisk) {
  const SmartReading reading = ReadingOf(R"({"device": {"name": "/dev/sdb", "type": "scsi", "protocol": "SCSI"},
    "smart_status": {"passed": false, "scsi": {"asc": 93, "ascq": 16, "ie_string": "FAILURE PREDICTION"}}})");
  EXPECT_EQ(reading, (SmartReading{.passed = 0, .sense = 93, .sense_more = 16}));
}

TEST(SmartDocument, ThatSaysNothingOfADisk) {
  const std::string virtual_disk = R"({"smartctl": {"messages": [
    {"string": "/dev/vda: Unable to detect device type", "severity": "error"}], "exit_status": 1}})";
  EXPECT_EQ(WhyNot(virtual_disk), "/dev/vda: Unable to detect device type");
  EXPECT_EQ(WhyNot("{}"), "the disk says nothing");
  EXPECT_EQ(WhyNot(R"({"smartctl": {"messages": [7]}})"), "the disk says nothing");
  for (const char* text : {"", "sda: no such disk", "[1]", "7", "{\"smart_status\": {\"passed\": fal"}) {
    EXPECT_EQ(WhyNot(text), "what it says is no JSON document") << text;
  }
}

TEST(SmartDocument, WhatIsNotWhatItShouldBeIsLeftOut) {
  const SmartReading some = ReadingOf(R"({"smart_status": {"passed": "no", "scsi": 7},
    "ata_smart_attributes": {"table": 5}, "nvme_smart_health_information_log": {"critical_warning": 0,
    "percentage_used": "much", "available_spare": 1.5}})");
  EXPECT_EQ(some, SmartReading{.warning = 0});
  const SmartReading last = ReadingOf(R"({"ata_smart_attributes": {"table": [5, null, [], {"id": 5},
    {"id": "197", "raw": {"value": 9}}, {"id": 198, "raw": {"value": 2, "string": "many"}}]}})");
  EXPECT_EQ(last, SmartReading{.uncorrectable = 2});
}

}  // namespace
}  // namespace glim::nodeagent::health
