// Where a cluster keeps the archives of jobs' code, and how large one may be: CHECKPOINT_ROOT/snapshots/SHA256.tar.zst.
// The name is the hash of the archive's bytes, so that a reader can tell a spoilt one. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glim {

inline constexpr std::string_view kSnapshotFolder = "snapshots";
inline constexpr std::string_view kSnapshotSuffix = ".tar.zst";
inline constexpr std::int64_t kSnapshotContentBytesMax = std::int64_t{64} << 20;   // of all files together
inline constexpr std::int64_t kSnapshotArchiveBytesMax = std::int64_t{128} << 20;  // names and headers count here
inline constexpr std::size_t kSnapshotEntriesMax = 50'000;

// 64 lower-case hex digits.
inline bool IsSha256(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

inline std::string SnapshotFolder(std::string_view checkpoint_root) {
  return std::string(checkpoint_root) + "/" + std::string(kSnapshotFolder);
}

inline std::string SnapshotPath(std::string_view checkpoint_root, std::string_view sha256) {
  return SnapshotFolder(checkpoint_root) + "/" + std::string(sha256) + std::string(kSnapshotSuffix);
}

// The hash in the name of an archive at .../snapshots/SHA256.tar.zst; empty: that is no archive's path.
inline std::string_view Sha256OfSnapshotPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || !path.ends_with(kSnapshotSuffix)) return {};
  const std::string_view folder = path.substr(0, slash);
  const std::string_view name = path.substr(slash + 1, path.size() - slash - 1 - kSnapshotSuffix.size());
  if (!folder.ends_with(kSnapshotFolder) || !IsSha256(name)) return {};
  const std::size_t above = folder.size() - kSnapshotFolder.size();
  return above > 0 && folder[above - 1] == '/' ? name : std::string_view{};
}

}  // namespace glim
