// What disks say of themselves (SMART), as smartctl tells it. Pure.
//
// The numbers are those of `smartctl --json -H -A` (smartmontools 7.3, smartctl(8)): of NVMe disks the fields of the
// log "SMART / Health Information" (NVM Express Base Specification, log page 02h), of ATA disks their own verdict and
// the attributes 5, 197 and 198, of SCSI disks the sense code of what they report (SCSI Primary Commands, informational
// exceptions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// Of one disk. Nothing: it does not say.
struct SmartReading {
  std::optional<std::int64_t> passed{};                // 0: by its own verdict it fails, or is about to
  std::optional<std::int64_t> sense{}, sense_more{};   // of that verdict (SCSI: ASC and ASCQ)
  std::optional<std::int64_t> warning{};               // NVMe's bits of critical_warning
  std::optional<std::int64_t> spare{}, spare_least{};  // available_spare and its threshold, in percent
  std::optional<std::int64_t> used{};                  // percentage_used of the life that it was made for
  std::optional<std::int64_t> media_errors{};          // of NVMe: errors in data that it could not mend
  std::optional<std::int64_t> reallocated{}, pending{}, uncorrectable{};  // sectors
  friend bool operator==(const SmartReading&, const SmartReading&) = default;
};

// From here on a disk is worn. It may live for long: the maker's warranty of writes is used up, no more.
inline constexpr std::int64_t kLifeUsedPercent = 100;
// One such sector is enough: disks that have one fail ten times as often or more within two months as others (Pinheiro
// et al., "Failure Trends in a Large Disk Drive Population", FAST 2007, section 3.5).
inline constexpr std::int64_t kBadSectors = 1;

// The conditions disk_failing and disk_worn. What an NVMe disk warns of is looked at bit by bit, for one of the bits is
// its temperature: that passes, and no new disk mends it.
Looks LookAtDisk(const std::string& disk, const SmartReading& reading);

// Disks are asked once a day, and a program that starts anew must not take back what the last one told. So the last
// reading of each disk is kept, and replaced by one that says something.
void KeepReading(const std::string& disk, const SmartReading& reading, Memory& memory);
// Of all that are there; what was kept of others is forgotten.
Looks LookAtKeptReadings(const std::vector<std::string>& disks, Memory& memory);

}  // namespace glim::nodeagent::health
