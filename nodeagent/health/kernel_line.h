// What a line of the kernel's log says of the hardware. Pure.
//
// The formats: NVIDIA's Xid messages ("XID Errors", docs.nvidia.com/deploy/xid-errors) and the NVSwitch driver's SXid
// messages ("NVIDIA Fabric Manager", docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide), the kernel's machine
// checks (arch/x86/kernel/cpu/mce), EDAC (drivers/edac/edac_mc.c), block layer, ext4, XFS and NVMe.
//
// Programs have words in the kernel's log, too: the kernel begins lines with a program's name ("NAME[123]: segfault at
// ..."), which the program chooses. Such lines tell nothing here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): "prefix,number,microseconds,flags[,...];text", and below
// the text lines that begin with a blank, which are left out.
struct KernelRecord {
  std::int64_t facility = 0;  // 0: the kernel itself; programs that write to /dev/kmsg have others
  std::uint64_t seq = 0;
  std::int64_t usec = 0;  // since the boot
  std::string_view text;  // of the record
};
// Nothing: it is no record.
std::optional<KernelRecord> ParseKernelRecord(std::string_view record);

// An event; nothing: the line tells nothing that is looked for.
std::optional<Finding> ReadKernelLine(std::string_view text);

// "PCI:0000:3B:00", with a domain of 4 or 8 digits and with or without a function, as "0000:3b:00.0". Empty: it is
// none.
std::string PciAddress(std::string_view text);

}  // namespace glim::nodeagent::health
