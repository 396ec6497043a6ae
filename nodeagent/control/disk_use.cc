#include "nodeagent/control/disk_use.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tuple>

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntriesMax = 300'000;  // of the whole walk

std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_directory(gone) && !it->is_symlink(gone)) found.push_back(it->path());
  }
  return found;
}

std::int64_t BytesBelow(const fs::path& folder, std::size_t& entries) {
  std::int64_t bytes = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end && entries < kEntriesMax; it.increment(error), ++entries) {
    struct stat info {};
    if (::lstat(it->path().c_str(), &info) == 0) bytes += static_cast<std::int64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace

std::vector<DiskUse> LargestIn(const std::string& state_dir, std::size_t count) {
  std::vector<DiskUse> uses;
  std::size_t entries = 0;
  const auto add = [&](const fs::path& folder) {
    uses.push_back({folder.lexically_relative(state_dir).string(), BytesBelow(folder, entries)});
  };
  for (const fs::path& task : FoldersIn(fs::path(state_dir) / "tasks")) {
    for (const char* part : {"tmp", "code"}) {
      std::error_code error;
      if (fs::is_directory(task / part, error)) add(task / part);
    }
  }
  for (const char* kind : {"logs", "checkpoints"}) {
    for (const fs::path& folder : FoldersIn(fs::path(state_dir) / kind)) add(folder);
  }
  std::sort(uses.begin(), uses.end(), [](const DiskUse& a, const DiskUse& b) {
    return std::tuple(-a.bytes, a.path) < std::tuple(-b.bytes, b.path);
  });
  if (uses.size() > count) uses.resize(count);
  return uses;
}

std::int64_t BytesIn(const std::string& folder) {
  std::size_t entries = 0;
  return BytesBelow(folder, entries);
}

std::string BytesText(std::int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit > 0 && amount < 10 ? "%.1f %s" : "%.0f %s", amount, units[unit]);
  return text;
}

}  // namespace glim::nodeagent
