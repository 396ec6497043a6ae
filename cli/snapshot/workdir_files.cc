#include "cli/snapshot/workdir_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/snapshot/ignore_rules.h"
#include "cli/snapshot/no_snapshot.h"
#include "cli/text/text.h"
#include "sdk/base/size_text.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/link_rule.h"

namespace glim::cli {
namespace {

namespace fs = std::filesystem;
using snapshot::Entry;

constexpr std::size_t kIgnoreFileBytesMax = 1 << 20;
constexpr std::size_t kLargestShown = 5;

std::string IgnoreFix(const std::string& folder) {
  return fmt::format("list what the job does not need in {}/.glimignore (the syntax of .gitignore)", Shown(folder));
}

Status CannotRead(const std::string& path, const std::string& why, const std::string& fix) {
  return NoSnapshot(fmt::format("cannot read {}: {}", Shown(path), why), "let it be readable" + fix);
}

std::string Size(std::int64_t bytes) { return RoundedSizeText(static_cast<std::uint64_t>(bytes)); }

// The rules of one ignore file; none where there is no such file. As git has it, a link is none.
Result<std::optional<IgnoreRules>> ReadRules(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)) return std::optional<IgnoreRules>();
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return CannotRead(path, std::strerror(errno), "");
  }
  if (!S_ISREG(info.st_mode)) return std::optional<IgnoreRules>();
  std::string text;
  const int error = ReadAll(fd.get(), kIgnoreFileBytesMax, text);
  if (error == EFBIG) return NoSnapshot(Shown(path) + " is longer than 1 MiB", "shorten it");
  if (error != 0) return CannotRead(path, std::strerror(error), "");
  return std::optional(IgnoreRules(text));
}

class Walk {
 public:
  Walk(const std::string& folder, const std::set<std::string>& tracked) : folder_(folder), tracked_(tracked) {}

  Result<std::vector<Entry>> Run() {
    if (Status status = ReadRulesAbove(); !status.ok()) return status;
    auto own = ReadRules(folder_ + "/.glimignore");
    if (!own.ok()) return own.status();
    if (*own) own_ = **own;
    if (Status status = Enter("", /*tracked_only=*/false); !status.ok()) return status;
    if (content_bytes_ > kSnapshotContentBytesMax) return TooLarge();
    std::sort(entries_.begin(), entries_.end());
    return std::move(entries_);
  }

 private:
  // A .gitignore, and how a path below the workdir is called from its folder: without the first `cut` characters, and
  // with `prefix` in front.
  struct Level {
    IgnoreRules rules;
    std::string prefix;
    std::size_t cut = 0;
  };

  Status ReadRulesAbove() {
    const std::string top = WorkTreeOf(folder_);
    if (top.empty() || top == folder_) return Status::Ok();
    const std::string below = folder_.substr(top == "/" ? 1 : top.size() + 1);  // "a/b"
    std::string level = top == "/" ? "" : top;
    for (std::size_t at = 0; at != std::string::npos;) {
      auto rules = ReadRules(level + "/.gitignore");
      if (!rules.ok()) return rules.status();
      if (*rules) levels_.push_back({**rules, below.substr(at) + "/", 0});
      const std::size_t slash = below.find('/', at);
      level += "/" + below.substr(at, slash == std::string::npos ? slash : slash - at);
      at = slash == std::string::npos ? slash : slash + 1;
    }
    return Status::Ok();
  }

  // The folder at `path` ("" for the workdir itself). `tracked_only`: a .gitignore leaves it out, but not what git
  // tracks in it.
  Status Enter(const std::string& path, bool tracked_only) {
    const std::string absolute = path.empty() ? folder_ : folder_ + "/" + path;
    const std::string prefix = path.empty() ? "" : path + "/";
    const std::size_t levels_before = levels_.size();
    auto rules = ReadRules(absolute + "/.gitignore");
    if (!rules.ok()) return rules.status();
    if (*rules) levels_.push_back({**rules, "", prefix.size()});
    std::error_code error;
    Status status;
    for (fs::directory_iterator it(absolute, error), end; !error && status.ok() && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name != ".git") status = Take(prefix + name, tracked_only);
    }
    if (error) return CannotRead(absolute, error.message(), ", or " + IgnoreFix(folder_));
    levels_.resize(levels_before);
    return status;
  }

  Status Take(const std::string& path, bool tracked_only) {
    struct stat info {};
    if (::lstat((folder_ + "/" + path).c_str(), &info) != 0) {
      if (errno == ENOENT) return Status::Ok();
      return CannotRead(path, std::strerror(errno), ", or " + IgnoreFix(folder_));
    }
    const bool is_folder = S_ISDIR(info.st_mode);
    const Verdict own = own_.Decide(path, is_folder);
    if (own == Verdict::kIgnore) return Status::Ok();
    const bool ignored = own != Verdict::kKeep && (tracked_only || GitIgnores(path, is_folder));
    if (ignored && !(is_folder ? HasTracked(path) : tracked_.contains(path))) return Status::Ok();
    if (is_folder) {
      if (Status status = Add(path, Entry::Kind::kFolder); !status.ok()) return status;
      return Enter(path, ignored);
    }
    if (S_ISLNK(info.st_mode)) {
      if (Status status = CheckLink(path); !status.ok()) return status;
      return Add(path, Entry::Kind::kLink);
    }
    if (!S_ISREG(info.st_mode)) return Status::Ok();
    content_bytes_ += info.st_size;
    NoteSize(path, info.st_size);
    return Add(path, Entry::Kind::kFile);
  }

  bool GitIgnores(const std::string& path, bool is_folder) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      const Verdict verdict = level->rules.Decide(level->prefix + path.substr(level->cut), is_folder);
      if (verdict != Verdict::kNone) return verdict == Verdict::kIgnore;
    }
    return false;
  }

  bool HasTracked(const std::string& path) const {
    const auto first = tracked_.lower_bound(path + "/");
    return first != tracked_.end() && first->starts_with(path + "/");
  }

  Status CheckLink(const std::string& path) const {
    char target[PATH_MAX];
    const ssize_t size = ::readlink((folder_ + "/" + path).c_str(), target, sizeof target);
    const std::string text(target, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    if (snapshot::LinkStaysInside(path, text)) return Status::Ok();
    return NoSnapshot(fmt::format("the link {} leads out of the workdir, to {}", Shown(path), Shown(text)),
                      fmt::format("add {} to {}/.glimignore, and name what the job needs of it in 'mounts'",
                                  ShellQuote("/" + path), Shown(folder_)));
  }

  Status Add(const std::string& path, Entry::Kind kind) {
    entries_.push_back({path, kind});
    if (entries_.size() <= kSnapshotEntriesMax) return Status::Ok();
    return NoSnapshot(fmt::format("the workdir {} has more than {} files and folders to pack, among them {}",
                                  Shown(folder_), kSnapshotEntriesMax, Shown(path)),
                      IgnoreFix(folder_));
  }

  void NoteSize(const std::string& path, std::int64_t bytes) {
    largest_.emplace(-bytes, path);
    if (largest_.size() > kLargestShown) largest_.erase(std::prev(largest_.end()));
  }

  Status TooLarge() const {
    std::string names;
    for (const auto& [bytes, path] : largest_) {
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", Shown(path), Size(-bytes));
    }
    return NoSnapshot(fmt::format("the workdir {} has {} to pack, at most {} are allowed; the largest: {}",
                                  Shown(folder_), Size(content_bytes_), WriteSize(kSnapshotContentBytesMax), names),
                      IgnoreFix(folder_));
  }

  const std::string folder_;
  const std::set<std::string>& tracked_;
  IgnoreRules own_;
  std::vector<Level> levels_;  // from the outermost on
  std::vector<Entry> entries_;
  std::int64_t content_bytes_ = 0;
  std::set<std::pair<std::int64_t, std::string>> largest_;  // by size, negated
};

}  // namespace

std::string WorkTreeOf(const std::string& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    std::error_code error;
    if (fs::symlink_status(at / ".git", error).type() != fs::file_type::not_found && !error) return at.string();
    if (!at.has_relative_path()) return "";
  }
}

Result<std::vector<Entry>> ListWorkdir(const std::string& folder, const std::set<std::string>& tracked) {
  return Walk(folder == "/" ? "" : folder, tracked).Run();
}

}  // namespace glim::cli
