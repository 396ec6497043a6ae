// What the kernel tells of a node in /sys and /proc. `root` stands for "/": a test gives a folder with sys/ and proc/
// in it. Reading never fails: what is not there is empty. A device that is sick may hang: for glim-inventory and its
// like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glim::nodeagent {

class SysTree {
 public:
  explicit SysTree(std::string root = "");

  // `path` from the root: "sys/class/net". The file's text without the blanks at its ends; at most 1 MiB.
  std::string Text(const std::string& path) const;
  // -1: it is not there, or no number.
  std::int64_t Number(const std::string& path) const;
  bool Has(const std::string& path) const;
  // Names in a folder, sorted.
  std::vector<std::string> Names(const std::string& path) const;
  // The PCIe address of the device that the link `path` leads to, or of the one that it hangs on; empty: none.
  std::string PciOf(const std::string& path) const;
  // -1: unknown, or the node has but one.
  std::int32_t NumaNodeOf(const std::string& pci) const;
  // NVIDIA's GPUs on the bus, whether a driver has them or not: their addresses, sorted.
  std::vector<std::string> GpusOnTheBus() const;

 private:
  std::string root_;
};

// "0000:3b:00.0"
bool IsPciAddress(std::string_view text);
// How many numbers a list of the kernel's has: "0-3,8" has five.
std::uint32_t CountOfList(std::string_view list);

}  // namespace glim::nodeagent
