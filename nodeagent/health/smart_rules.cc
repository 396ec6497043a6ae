#include "nodeagent/health/smart_rules.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace glim::nodeagent::health {
namespace {

using Field = std::optional<std::int64_t> SmartReading::*;

// As they are kept.
constexpr std::pair<std::string_view, Field> kFields[] = {{"passed", &SmartReading::passed},
                                                          {"sense", &SmartReading::sense},
                                                          {"sense_more", &SmartReading::sense_more},
                                                          {"warning", &SmartReading::warning},
                                                          {"spare", &SmartReading::spare},
                                                          {"spare_least", &SmartReading::spare_least},
                                                          {"used", &SmartReading::used},
                                                          {"media_errors", &SmartReading::media_errors},
                                                          {"reallocated", &SmartReading::reallocated},
                                                          {"pending", &SmartReading::pending},
                                                          {"uncorrectable", &SmartReading::uncorrectable}};

// critical_warning, figure "SMART / Health Information Log Page" of the NVMe specification.
constexpr std::int64_t kTemperatureBit = 0x02;
constexpr std::pair<std::int64_t, std::string_view> kWarnings[] = {
    {0x01, "its spare blocks run out"},
    {0x04, "it is not reliable any more"},
    {0x08, "it takes no more writes"},
    {0x10, "what saves its volatile memory has failed"},
    {0x20, "its persistent memory is not reliable any more"}};
// WARNING - SPECIFIED TEMPERATURE EXCEEDED
constexpr std::int64_t kSenseWarning = 0x0b, kSenseTooHot = 0x01;

std::string KeyOf(const std::string& disk, std::string_view field) { return disk + " " + std::string(field); }

void AddWords(std::string_view more, std::string& words) {
  if (!words.empty()) words += ", ";
  words += more;
}

std::string WarningInWords(const SmartReading& reading) {
  const std::int64_t bits = *reading.warning & ~kTemperatureBit;
  std::string words;
  std::int64_t known = 0;
  for (const auto& [bit, text] : kWarnings) {
    known |= bit;
    if ((bits & bit) != 0) AddWords(text, words);
  }
  if ((bits & ~known) != 0) AddWords("critical warning " + std::to_string(bits & ~known), words);
  return words;
}

// Why a disk fails; empty: it does not.
std::string FailureInWords(const SmartReading& reading) {
  std::string words;
  if (reading.warning) {
    words = WarningInWords(reading);
  } else if (reading.passed == 0) {
    if (reading.sense == kSenseWarning && reading.sense_more == kSenseTooHot) return "";
    words = "by its own verdict it fails or is about to";
    if (reading.sense && reading.sense_more) {
      words += " (sense code " + std::to_string(*reading.sense) + "/" + std::to_string(*reading.sense_more) + ")";
    }
  }
  if (reading.spare && reading.spare_least && *reading.spare < *reading.spare_least) {
    AddWords(std::to_string(*reading.spare) + " % of its spare blocks are left, " +
                 std::to_string(*reading.spare_least) + " % are the least",
             words);
  }
  return words;
}

std::string WearInWords(const SmartReading& reading) {
  std::string words;
  if (reading.used.value_or(0) >= kLifeUsedPercent) {
    words = std::to_string(*reading.used) + " % of the life that it was made for are used";
  }
  const std::pair<Field, std::string_view> sectors[] = {
      {&SmartReading::reallocated, "sectors replaced: "},
      {&SmartReading::pending, "sectors that cannot be read: "},
      {&SmartReading::uncorrectable, "sectors lost: "},
      {&SmartReading::media_errors, "errors in data that it could not mend: "}};
  for (const auto& [field, text] : sectors) {
    const std::int64_t count = (reading.*field).value_or(0);
    if (count >= kBadSectors) AddWords(std::string(text) + std::to_string(count), words);
  }
  return words;
}

void AddCondition(const char* check, const std::string& disk, const std::string& words, Looks& looks) {
  if (words.empty()) return;
  Finding finding;
  finding.check = check;
  finding.device = MakeDevice(disk);
  finding.text = MakeText(words);
  looks.conditions.push_back(std::move(finding));
}

}  // namespace

Looks LookAtDisk(const std::string& disk, const SmartReading& reading) {
  Looks looks;
  AddCondition("disk_failing", disk, FailureInWords(reading), looks);
  AddCondition("disk_worn", disk, WearInWords(reading), looks);
  return looks;
}

void KeepReading(const std::string& disk, const SmartReading& reading, Memory& memory) {
  if (reading == SmartReading{}) return;
  for (const auto& [name, field] : kFields) {
    if (reading.*field) {
      memory[KeyOf(disk, name)] = *(reading.*field);
    } else {
      memory.erase(KeyOf(disk, name));
    }
  }
}

Looks LookAtKeptReadings(const std::vector<std::string>& disks, Memory& memory) {
  std::erase_if(memory, [&](const auto& entry) {
    return std::find(disks.begin(), disks.end(), entry.first.substr(0, entry.first.find(' '))) == disks.end();
  });
  Looks looks;
  for (const std::string& disk : disks) {
    SmartReading reading;
    for (const auto& [name, field] : kFields) {
      const auto kept = memory.find(KeyOf(disk, name));
      if (kept != memory.end()) reading.*field = kept->second;
    }
    looks.Add(LookAtDisk(disk, reading));
  }
  return looks;
}

}  // namespace glim::nodeagent::health
