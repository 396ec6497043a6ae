#include "nodeagent/control/disk_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDepthMax = 100;             // folders within each other, which is what a walk holds open
constexpr std::size_t kEntriesMax = 300'000;       // of one folder
constexpr std::size_t kEntriesAllMax = 1'000'000;  // when many are compared

std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_directory(gone) && !it->is_symlink(gone)) found.push_back(it->path());
  }
  return found;
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// No link's: whoever fills the folder may exchange what was a folder for one. None, and errno.
Dir OpenDir(int parent, const char* name) {
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return nullptr;
  Dir dir(::fdopendir(fd.get()));
  if (dir) fd.Release();
  return dir;
}

// By descriptors, so that no path is too long for it, and a few of them, so that whoever makes what is walked decides
// neither how many files are open nor how much memory that takes.
class Walk {
 public:
  FolderBytes Count(const std::string& folder) {
    Enter(AT_FDCWD, folder.c_str());
    while (!open_.empty() && found_.uncounted.empty()) Step();
    return std::move(found_);
  }

  std::size_t entries() const { return entries_; }

 private:
  void Enter(int parent, const char* name) {
    if (open_.size() == kDepthMax) {
      found_.uncounted = "folders more than " + std::to_string(kDepthMax) + " deep";
    } else if (Dir dir = OpenDir(parent, name)) {
      open_.push_back(std::move(dir));
    } else if (errno == EACCES) {
      found_.uncounted = "a folder that the agent may not read";
    }
  }

  void Step() {
    DIR* const dir = open_.back().get();
    const dirent* const entry = ::readdir(dir);
    if (entry == nullptr) return open_.pop_back();
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") return;
    if (++entries_ > kEntriesMax) {
      found_.uncounted = "more than " + std::to_string(kEntriesMax) + " files";
      return;
    }
    struct stat info {};
    if (::fstatat(::dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone meanwhile
    found_.bytes += static_cast<std::int64_t>(info.st_blocks) * 512;
    if (S_ISDIR(info.st_mode)) Enter(::dirfd(dir), entry->d_name);
  }

  std::vector<Dir> open_;  // the last one is being read
  std::size_t entries_ = 0;
  FolderBytes found_;
};

}  // namespace

std::vector<DiskUse> LargestIn(const std::string& state_dir, std::size_t count) {
  std::vector<DiskUse> uses;
  std::size_t entries = 0;
  const auto add = [&](const fs::path& folder) {
    if (entries > kEntriesAllMax) return;
    Walk walk;
    uses.push_back({folder.lexically_relative(state_dir).string(), walk.Count(folder.string())});
    entries += walk.entries();
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
    // What could not be counted may be the largest.
    return std::tuple(a.size.uncounted.empty(), -a.size.bytes, a.path) <
           std::tuple(b.size.uncounted.empty(), -b.size.bytes, b.path);
  });
  if (uses.size() > count) uses.resize(count);
  return uses;
}

FolderBytes BytesIn(const std::string& folder) { return Walk().Count(folder); }

std::string BytesText(std::int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit > 0 && amount < 10 ? "%.1f %s" : "%.0f %s", amount, units[unit]);
  return text;
}

std::string BytesText(const FolderBytes& size) {
  return size.uncounted.empty() ? BytesText(size.bytes) : BytesText(size.bytes) + " and " + size.uncounted;
}

}  // namespace glim::nodeagent
