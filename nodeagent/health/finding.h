// What the checks of a node's hardware find. Plain values; the names of checks are those of docs/operations/health.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace glim::nodeagent::health {

inline constexpr std::size_t kTextBytesMax = 400;
inline constexpr std::size_t kDeviceBytesMax = 128;
inline constexpr std::size_t kCheckBytesMax = 40;
inline constexpr std::size_t kUnitBytesMax = 24;

// An event happened once. A condition is so as long as it is found.
struct Finding {
  std::string check;
  std::string device;      // a GPU's PCIe address, a port, a disk, a memory module; empty: the node
  std::int64_t code = 0;   // of checks xid, sxid, sxid_fatal: its number; of machine_check: the bank
  std::string text;        // printable (MakeText)
  std::int64_t value = 0;  // what was measured, in `unit`
  std::int64_t expected = 0;
  std::string unit;        // empty: nothing was measured
  std::int64_t at_ms = 0;  // since the epoch; 0: when it is told
  std::int32_t pid = 0;    // of the process that the kernel blames; 0: none
  friend bool operator==(const Finding&, const Finding&) = default;
};

// Whether a GPU computed when it was looked at. One that does not tell counts as busy: nobody is accused by it.
struct GpuUse {
  std::string pci;
  bool busy = false;
  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};
inline constexpr std::size_t kGpusMax = 64;

// What one look found: what has happened since the last one, and all that is so now.
struct Looks {
  std::vector<Finding> events;
  std::vector<Finding> conditions;
  std::vector<GpuUse> gpus{};  // all that were looked at and are not lost

  void Add(Looks more);
};

// What a rule remembers from look to look, also over a restart of the agent: within one boot of the machine. Keys are
// the rule's own words with the device's name in them.
using Memory = std::map<std::string, std::int64_t>;

// A text for people, of whatever was read: printable and bounded.
std::string MakeText(std::string_view text);
// The same for the name of a device.
std::string MakeDevice(std::string_view text);

}  // namespace glim::nodeagent::health
