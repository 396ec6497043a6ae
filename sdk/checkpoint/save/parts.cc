#include "sdk/checkpoint/save/parts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "sdk/io/folders.h"

#include "sdk/checkpoint/format/manifest_json.h"

namespace glim::checkpoint {
namespace {

constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{50};
constexpr std::size_t kRanksNamedMax = 8;

Result<std::set<std::string>> NamesIn(int folder) {
  const auto entries = ListFolder(folder);
  if (!entries.ok()) return entries.status();
  std::set<std::string> names;
  for (const FolderEntry& entry : *entries) names.insert(entry.name);
  return names;
}

bool Exists(int folder, const std::string& name) {
  struct stat found {};
  return ::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

bool OfOneSave(const Manifest& a, const Manifest& b) {
  return a.attempt == b.attempt && a.step == b.step && a.world_size == b.world_size;
}

// Takes those of the missing parts that have come.
Status TakeParts(const Directory& directory, int folder, std::vector<std::optional<Manifest>>& parts) {
  const Result<std::set<std::string>> names = NamesIn(folder);
  if (!names.ok()) return names.status();
  for (std::uint32_t rank = 1; rank < parts.size(); ++rank) {
    const std::string name = PartName(rank);
    if (parts[rank] || !names->contains(name)) continue;
    const Result<std::string> text = directory.ReadText(folder, name, kManifestBytesMax);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) continue;  // being replaced
    if (!text.ok()) return text.status();
    Result<Part> part = ParsePart(*text);
    if (!part.ok()) return Status(part.status().code(), name + ": " + part.status().message());
    if (part->rank == rank && OfOneSave(part->manifest, *parts[0])) parts[rank] = std::move(part->manifest);
  }
  return Status::Ok();
}

Status NotAllCame(const std::vector<std::optional<Manifest>>& parts, std::int64_t timeout_ms) {
  std::string ranks;
  std::size_t missing = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank] && missing++ < kRanksNamedMax) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (missing > kRanksNamedMax) ranks += " and " + std::to_string(missing - kRanksNamedMax) + " more";
  return Status(StatusCode::kDeadlineExceeded, "step " + std::to_string(parts[0]->step) + ": no part of rank " + ranks +
                                                   " within " + std::to_string(timeout_ms) + " ms")
      .WithReason("PARTS_MISSING")
      .WithField("rank " + ranks)
      .WithFix("look at the log of that rank; every rank must save the same steps");
}

}  // namespace

std::string PartName(std::uint32_t rank) {
  char name[32];
  std::snprintf(name, sizeof name, "part-%05u.json", rank);
  return name;
}

std::string NewShardName(int folder, std::uint32_t rank, std::uint32_t world) {
  char stem[48];
  std::snprintf(stem, sizeof stem, "shard-%05u-of-%05u", rank, world);
  std::string name = std::string(stem) + ".safetensors";
  for (int again = 2; Exists(folder, name); ++again) name = stem + ("-" + std::to_string(again)) + ".safetensors";
  return name;
}

Result<std::vector<Manifest>> WaitForParts(const Directory& directory, int folder, Manifest own,
                                           std::int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<std::optional<Manifest>> parts(own.world_size);
  parts[0] = std::move(own);
  auto pause = kFirstPause;
  const auto here = [](const std::optional<Manifest>& part) { return part.has_value(); };
  while (!std::all_of(parts.begin(), parts.end(), here)) {
    const bool last_look = std::chrono::steady_clock::now() >= deadline;
    if (Status status = TakeParts(directory, folder, parts); !status.ok()) return status;
    if (std::all_of(parts.begin(), parts.end(), here)) break;
    if (last_look) return NotAllCame(parts, timeout_ms);
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongestPause, pause * 2);
  }
  std::vector<Manifest> all;
  all.reserve(parts.size());
  for (std::optional<Manifest>& part : parts) all.push_back(*std::move(part));
  return all;
}

}  // namespace glim::checkpoint
