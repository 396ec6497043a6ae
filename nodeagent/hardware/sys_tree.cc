#include "nodeagent/hardware/sys_tree.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <utility>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kTextBytesMax = 1 << 20;
constexpr const char* kNvidia = "0x10de";

}  // namespace

bool IsPciAddress(std::string_view text) {
  constexpr std::string_view pattern = "hhhh:hh:hh.h";
  return text.size() == pattern.size() && std::equal(text.begin(), text.end(), pattern.begin(), [](char c, char p) {
           return p == 'h' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == p;
         });
}

std::uint32_t CountOfList(std::string_view list) {
  std::uint32_t count = 0;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    std::uint32_t first = 0, last = 0;
    const char* const end = part.data() + part.size();
    const auto [after, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc()) continue;
    last = first;
    if (after != end && *after == '-') std::from_chars(after + 1, end, last);
    count += last >= first ? last - first + 1 : 1;
  }
  return count;
}

SysTree::SysTree(std::string root) : root_(std::move(root)) {
  if (root_.empty() || root_.back() != '/') root_ += '/';
}

std::string SysTree::Text(const std::string& path) const {
  const Result<std::string> read = ReadFile(root_ + path, kTextBytesMax);
  if (!read.ok()) return "";
  const std::size_t first = read->find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return read->substr(first, read->find_last_not_of(" \t\n") - first + 1);
}

std::int64_t SysTree::Number(const std::string& path) const {
  const std::string text = Text(path);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

bool SysTree::Has(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

std::vector<std::string> SysTree::Names(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(root_ + path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A device of virtio or of NVMe hangs below the one that is on the bus.
std::string SysTree::PciOf(const std::string& path) const {
  std::error_code error;
  std::filesystem::path place = std::filesystem::canonical(root_ + path, error);
  if (error) return "";
  for (; place.has_relative_path(); place = place.parent_path()) {
    const std::string name = place.filename().string();
    if (IsPciAddress(name)) return name;
  }
  return "";
}

std::int32_t SysTree::NumaNodeOf(const std::string& pci) const {
  if (pci.empty()) return -1;
  return static_cast<std::int32_t>(Number("sys/bus/pci/devices/" + pci + "/numa_node"));
}

std::vector<std::string> SysTree::GpusOnTheBus() const {
  const std::string devices = "sys/bus/pci/devices";
  std::vector<std::string> found;
  for (const std::string& name : Names(devices)) {
    const std::string kind = Text(devices + "/" + name + "/class");
    const bool draws = kind.starts_with("0x0300") || kind.starts_with("0x0302");  // with a display, without
    if (draws && Text(devices + "/" + name + "/vendor") == kNvidia) found.push_back(name);
  }
  return found;
}

}  // namespace glim::nodeagent
