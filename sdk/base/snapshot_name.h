// Where a cluster keeps the archives of jobs' code, and how large one may be:
// CHECKPOINT_ROOT/snapshots/UID/SHA256.tar.zst, in a folder of the user's who submits, so that the same code of another
// user is another file. The name is the hash of the archive's bytes, so that a reader can tell a spoilt one. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

inline std::string SnapshotPath(std::string_view checkpoint_root, std::uint32_t uid, std::string_view sha256) {
  return SnapshotFolder(checkpoint_root) + "/" + std::to_string(uid) + "/" + std::string(sha256) +
         std::string(kSnapshotSuffix);
}

// What the path of an archive says.
struct SnapshotParts {
  std::string_view root;             // the checkpoint root
  std::optional<std::uint32_t> uid;  // none: of a version before, .../snapshots/SHA256.tar.zst
  std::string_view sha256;
};

// As std::to_string writes it; nothing: it is none.
inline std::optional<std::uint32_t> UidOfFolder(std::string_view name) {
  constexpr std::size_t kDigitsMax = 10;
  if (name.empty() || name.size() > kDigitsMax || (name[0] == '0' && name.size() > 1)) return std::nullopt;
  std::uint64_t uid = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return std::nullopt;
    uid = uid * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return uid <= UINT32_MAX ? std::optional(static_cast<std::uint32_t>(uid)) : std::nullopt;
}

// Nothing: that is no archive's path.
inline std::optional<SnapshotParts> ParseSnapshotPath(std::string_view path) {
  // Cuts the last name off.
  const auto last_name = [&path] {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return std::string_view{};
    const std::string_view name = path.substr(slash + 1);
    path = path.substr(0, slash);
    return name;
  };
  SnapshotParts parts;
  const std::string_view file = last_name();
  if (!file.ends_with(kSnapshotSuffix)) return std::nullopt;
  parts.sha256 = file.substr(0, file.size() - kSnapshotSuffix.size());
  std::string_view folder = last_name();
  if (folder != kSnapshotFolder) {
    parts.uid = UidOfFolder(folder);
    if (!parts.uid) return std::nullopt;
    folder = last_name();
  }
  if (folder != kSnapshotFolder || !IsSha256(parts.sha256)) return std::nullopt;
  parts.root = path;
  return parts;
}

}  // namespace glim
