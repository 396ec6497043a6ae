#include "nodeagent/health/disk_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nodeagent/health/text_scan.h"

namespace glim::nodeagent::health {
namespace {

bool HasOption(std::string_view options, std::string_view wanted) {
  TextScan scan(options);
  do {
    if (scan.Until(",") == wanted) return true;
  } while (scan.Take(","));
  return false;
}

struct Mount {
  std::string disk;
  std::string folder;
  bool writable = false;
  bool read_only = false;
};

// A line is "device folder type options 0 0"; blanks in names are escaped.
std::vector<Mount> MountsOfDisks(std::string_view mounts) {
  std::vector<Mount> found;
  TextScan lines(mounts);
  while (!lines.rest().empty()) {
    TextScan line(lines.Until("\n"));
    lines.Take("\n");
    if (!line.Take("/dev/")) continue;
    Mount mount;
    mount.disk = line.Until(" ");
    line.Take(" ");
    mount.folder = line.Until(" ");
    line.Take(" ");
    line.Until(" ");
    line.Take(" ");
    const std::string_view options = line.Until(" ");
    mount.writable = HasOption(options, "rw");
    mount.read_only = HasOption(options, "ro");
    found.push_back(std::move(mount));
  }
  return found;
}

}  // namespace

Looks LookAtMounts(std::string_view mounts, Memory& memory) {
  Looks looks;
  const std::vector<Mount> found = MountsOfDisks(mounts);
  std::set<std::string_view> writable;  // disks: a file system that fails takes writes at none of its mounts
  for (const Mount& mount : found) {
    if (mount.writable) writable.insert(mount.disk);
  }
  for (const Mount& mount : found) {
    const std::string key = "writable " + mount.disk + " " + mount.folder;
    if (mount.writable) memory[key] = 1;
    if (!mount.read_only || writable.contains(mount.disk) || !memory.contains(key)) continue;
    Finding finding;
    finding.check = "disk_read_only";
    finding.device = MakeDevice(mount.disk);
    finding.text = MakeText(mount.folder + " was writable, and is read-only now");
    looks.conditions.push_back(finding);
  }
  return looks;
}

Looks LookAtRoom(const std::string& folder, std::int64_t free_bytes, std::int64_t all_bytes) {
  Looks looks;
  if (all_bytes <= 0 || free_bytes / kFreePercentLeast >= all_bytes / 100) return looks;
  Finding finding;
  finding.check = "disk_full_soon";
  finding.device = MakeDevice(folder);
  finding.value = free_bytes >> 20;
  finding.expected = all_bytes / 100 * kFreePercentLeast >> 20;
  finding.unit = "MiB";
  finding.text = "less than " + std::to_string(kFreePercentLeast) + " % of the file system is free";
  looks.conditions.push_back(finding);
  return looks;
}

void WriteTimes::Add(std::int64_t ms) {
  std::vector<std::int64_t> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  median_ = sorted.size() < kWritesForAMedian ? 0 : std::max<std::int64_t>(1, sorted[sorted.size() / 2]);
  const bool beside = median_ > 0 && ms > kWriteMsUnremarked && ms > kWriteTimesMost * median_;
  slow_ = ms > kWriteMsMost || beside;
  last_.push_back(ms);
  if (last_.size() > kWritesOfADay) last_.erase(last_.begin());
}

Looks WriteTimes::Conditions(const std::string& folder) const {
  Looks looks;
  if (!slow_) return looks;
  Finding finding;
  finding.check = "disk_slow";
  finding.device = MakeDevice(folder);
  finding.value = last_.back();
  finding.expected =
      median_ > 0 ? std::min(kWriteMsMost, std::max(kWriteMsUnremarked, kWriteTimesMost * median_)) : kWriteMsMost;
  finding.unit = "milliseconds";
  finding.text = "4 KiB took " + std::to_string(finding.value) + " ms to the disk";
  looks.conditions.push_back(finding);
  return looks;
}

}  // namespace glim::nodeagent::health
