#include "nodeagent/health/kernel_line.h"

#include <algorithm>
#include <array>
#include <limits>

#include "nodeagent/health/text_scan.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::size_t kProgramNameMax = 16;  // TASK_COMM_LEN
constexpr std::int64_t kXidMax = 100'000;

bool IsHex(char c) { return TextScan::IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool AreHex(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsHex); }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "NAME[123]: ...": the kernel speaks of a program, in words of which the first are the program's.
bool SpeaksOfProgram(std::string_view text) {
  for (std::size_t at = 0; at <= kProgramNameMax && at < text.size(); ++at) {
    if (text[at] != '[') continue;
    TextScan scan(text.substr(at + 1));
    if (scan.Number() && scan.Take("]")) return true;
  }
  return false;
}

std::int32_t PidIn(TextScan scan) {
  if (!scan.Take("pid=")) return 0;
  scan.Take("'");
  const std::optional<std::int64_t> pid = scan.Number();
  return pid && *pid <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(*pid) : 0;
}

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
std::optional<Finding> ReadXid(std::string_view text) {
  TextScan scan(text);
  if (!scan.Take("NVRM: Xid (")) return std::nullopt;
  Finding finding;
  finding.check = "xid";
  finding.device = PciAddress(scan.Until(")"));
  if (finding.device.empty() || !scan.Take("): ")) return std::nullopt;
  const std::optional<std::int64_t> number = scan.Number();
  if (!number || *number == 0 || *number > kXidMax) return std::nullopt;
  if (!scan.rest().empty() && !scan.Is(",") && !scan.Is(" ")) return std::nullopt;
  finding.code = *number;
  scan.Take(",");
  scan.Take(" ");
  finding.pid = PidIn(scan);
  return finding;
}

// "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 sourcetrack timeout error (First)". Further lines
// of the same error have its raw numbers ("24007, Severity 1 Engine instance 44 ...", "24007, Data {0x...") and tell
// nothing new.
std::optional<Finding> ReadSxid(std::string_view text) {
  TextScan scan(text);
  if (!scan.Take("nvidia-nvswitch") || !scan.Number()) return std::nullopt;
  scan.Take(":");
  if (!scan.Take(" SXid (")) return std::nullopt;
  Finding finding;
  finding.device = PciAddress(scan.Until(")"));
  if (finding.device.empty() || !scan.Take("): ")) return std::nullopt;
  const std::optional<std::int64_t> number = scan.Number();
  if (!number || *number == 0 || *number > kXidMax) return std::nullopt;
  finding.code = *number;
  const std::string words = Lower(scan.rest());
  if (words.starts_with(", fatal")) {
    finding.check = "sxid_fatal";
  } else if (words.starts_with(", non-fatal")) {
    finding.check = "sxid";
  } else {
    return std::nullopt;
  }
  return finding;
}

// "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 ...)"
std::optional<Finding> ReadMemoryError(std::string_view text) {
  TextScan scan(text);
  if (!scan.Take("EDAC MC")) return std::nullopt;
  const std::optional<std::int64_t> controller = scan.Number();
  if (!controller || !scan.Take(": ")) return std::nullopt;
  const std::optional<std::int64_t> count = scan.Number();
  if (!count) return std::nullopt;
  Finding finding;
  if (scan.Take(" CE ")) {
    finding.check = "memory_ecc_corrected";
  } else if (scan.Take(" UE ")) {
    finding.check = "memory_ecc_uncorrected";
  } else {
    return std::nullopt;
  }
  if (!scan.SkipPast(" on ")) return std::nullopt;
  finding.device = MakeDevice(scan.Until(" ("));
  if (finding.device.empty()) finding.device = "mc" + std::to_string(*controller);
  return finding;
}

// The hexadecimal digits that come next; nothing: none, or more than 16.
std::optional<std::uint64_t> HexNumber(TextScan& scan) {
  const std::string_view digits = scan.Until(" ");
  if (!AreHex(digits) || digits.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : Lower(digits)) {
    value = value * 16 + static_cast<std::uint64_t>(TextScan::IsDigit(c) ? c - '0' : c - 'a' + 10);
  }
  return value;
}

// "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400". What the hardware has mended
// itself (bit 61 of the bank's status, MCi_STATUS.UC, is 0) is EDAC's to count.
std::optional<Finding> ReadMachineCheck(std::string_view text) {
  constexpr std::uint64_t kUncorrected = std::uint64_t{1} << 61;
  TextScan scan(text);
  scan.Take("mce: ");
  if (!scan.Take("[Hardware Error]: CPU ")) return std::nullopt;
  const std::optional<std::int64_t> cpu = scan.Number();
  if (!cpu || !scan.Take(": Machine Check")) return std::nullopt;
  const bool exception = scan.Take(" Exception");
  if (!scan.SkipPast(" Bank ")) return std::nullopt;
  const std::optional<std::int64_t> bank = scan.Number();
  if (!bank || !scan.Take(": ")) return std::nullopt;
  const std::optional<std::uint64_t> status = HexNumber(scan);
  if (!status || (!exception && (*status & kUncorrected) == 0)) return std::nullopt;
  Finding finding;
  finding.check = "machine_check";
  finding.device = "cpu" + std::to_string(*cpu);
  finding.code = *bank;
  return finding;
}

bool IsDiskName(std::string_view name) {
  constexpr std::array kNoDisks = {"fd", "loop", "nbd", "ram", "sr", "zram"};
  if (name.empty() || name.size() > 32) return false;
  for (const char* prefix : kNoDisks) {
    if (name.starts_with(prefix)) return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return TextScan::IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

std::optional<Finding> DiskError(std::string_view disk) {
  if (!IsDiskName(disk)) return std::nullopt;
  Finding finding;
  finding.check = "disk_error";
  finding.device = disk;
  return finding;
}

// "blk_update_request: I/O error, dev sda, sector 2048 ...", since Linux 5.16 without the function's name.
std::optional<Finding> ReadBlockError(std::string_view text) {
  TextScan scan(text);
  for (const char* function : {"blk_update_request: ", "print_req_error: "}) scan.Take(function);
  for (const char* error :
       {"I/O error, dev ", "critical medium error, dev ", "critical target error, dev ", "Buffer I/O error on dev "}) {
    if (scan.Take(error)) return DiskError(scan.Until(" ,"));
  }
  return std::nullopt;
}

// "EXT4-fs error (device sda1): ...", "EXT4-fs (sda1): Remounting filesystem read-only", "XFS (sda1): metadata I/O
// error"
std::optional<Finding> ReadFileSystemError(std::string_view text) {
  TextScan scan(text);
  if (scan.Take("EXT4-fs error (device ") || scan.Take("BTRFS error (device ")) return DiskError(scan.Until("):"));
  if (scan.Take("EXT4-fs (")) {
    const std::string_view disk = scan.Until("):");
    return scan.Take("): Remounting filesystem read-only") ? DiskError(disk) : std::nullopt;
  }
  if (!scan.Take("XFS (")) return std::nullopt;
  const std::string_view disk = scan.Until("):");
  for (const char* error : {"): metadata I/O error", "): log I/O error", "): Metadata corruption detected",
                            "): Corruption of in-memory data"}) {
    if (scan.Is(error)) return DiskError(disk);
  }
  return std::nullopt;
}

// "nvme nvme0: I/O 26 QID 4 timeout, reset controller", "nvme nvme0: controller is down; will reset: ..."
std::optional<Finding> ReadNvmeError(std::string_view text) {
  TextScan scan(text);
  if (!scan.Take("nvme nvme")) return std::nullopt;
  const std::optional<std::int64_t> number = scan.Number();
  if (!number || !scan.Take(": ")) return std::nullopt;
  const bool times_out = scan.Is("I/O ") && scan.rest().find(" timeout, ") != std::string_view::npos;
  if (!times_out && !scan.Is("controller is down") && !scan.Is("Removing after probe failure")) return std::nullopt;
  return DiskError("nvme" + std::to_string(*number));
}

}  // namespace

std::optional<KernelRecord> ParseKernelRecord(std::string_view record) {
  TextScan scan(record);
  const std::optional<std::int64_t> prefix = scan.Number();
  if (!prefix || !scan.Take(",")) return std::nullopt;
  const std::optional<std::int64_t> seq = scan.Number();
  if (!seq || !scan.Take(",")) return std::nullopt;
  const std::optional<std::int64_t> usec = scan.Number();
  if (!usec || !scan.Take(",") || !scan.SkipPast(";")) return std::nullopt;
  return KernelRecord{*prefix >> 3, static_cast<std::uint64_t>(*seq), *usec, scan.Until("\n")};
}

std::optional<Finding> ReadKernelLine(std::string_view text) {
  if (SpeaksOfProgram(text)) return std::nullopt;
  for (const auto read :
       {ReadXid, ReadSxid, ReadMemoryError, ReadMachineCheck, ReadBlockError, ReadFileSystemError, ReadNvmeError}) {
    std::optional<Finding> finding = read(text);
    if (!finding) continue;
    finding->text = MakeText(text);
    return finding;
  }
  return std::nullopt;
}

std::string PciAddress(std::string_view text) {
  TextScan scan(text);
  scan.Take("PCI:");
  std::string_view domain = scan.Until(":");
  if (domain.size() == 8 && domain.starts_with("0000")) domain.remove_prefix(4);
  if (domain.size() < 4 || domain.size() > 8 || !AreHex(domain) || !scan.Take(":")) return "";
  const std::string_view bus = scan.Until(":");
  if (bus.size() != 2 || !AreHex(bus) || !scan.Take(":")) return "";
  const std::string_view device = scan.Until(".");
  if (device.size() != 2 || !AreHex(device)) return "";
  std::string_view function = "0";
  if (scan.Take(".")) function = scan.rest();
  if (function.size() != 1 || function[0] < '0' || function[0] > '7') return "";
  return Lower(domain) + ":" + Lower(bus) + ":" + Lower(device) + "." + std::string(function);
}

}  // namespace glim::nodeagent::health
