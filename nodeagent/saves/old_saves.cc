#include "nodeagent/saves/old_saves.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kNotes = ".ended";
constexpr const char* kManifest = "manifest.json";
constexpr std::string_view kRemoving = ".removing-";
constexpr int kDepthMax = 64;           // of what is measured; what is removed may be as deep as it likes
constexpr int kEntriesMax = 1'000'000;  // that are measured of one job

// Empty for a name that is no job's number, written as Glim writes it.
std::optional<std::uint64_t> JobOf(std::string_view name) {
  std::uint64_t job = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), job);
  if (end.ec != std::errc() || std::to_string(job) != name || job == 0) return std::nullopt;
  return job;
}

UniqueFd OpenIn(int above, const std::string& name) {
  return UniqueFd(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Not OK and NOT_FOUND: there is no such place.
Result<UniqueFd> OpenPlace(const SavesPlace& place) {
  const UniqueFd base(::open(place.base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base) return FileError("open", place.base, errno);
  UniqueFd folder = OpenIn(base.get(), place.name);
  if (!folder && errno == ENOTDIR) {  // what the kernel says of a link, too
    return Status(StatusCode::kFailedPrecondition, place.base + "/" + place.name + " is no folder");
  }
  if (!folder) return FileError("open", place.base + "/" + place.name, errno);
  return folder;
}

// What a job has: blocks on the disk, and the newest change.
class Measure {
 public:
  explicit Measure(dev_t device) : device_(device) {}

  void See(const struct stat& info) {
    bytes_ += static_cast<std::int64_t>(info.st_blocks) * 512;
    const std::int64_t ms = static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000;
    changed_ms_ = std::max(changed_ms_, ms);
  }
  void Walk(int folder, int depth) {
    const auto entries = ListFolder(folder);
    if (!entries.ok()) return;  // it is counted without
    for (const FolderEntry& entry : *entries) {
      struct stat info {};
      if (++entries_ > kEntriesMax) return;
      if (::fstatat(folder, entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || info.st_dev != device_) continue;
      See(info);
      saves_ += S_ISREG(info.st_mode) && entry.name == kManifest ? 1 : 0;
      if (!S_ISDIR(info.st_mode) || depth >= kDepthMax) continue;
      if (const UniqueFd below = OpenIn(folder, entry.name)) Walk(below.get(), depth + 1);
    }
  }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t changed_ms() const { return changed_ms_; }
  std::uint32_t saves() const { return saves_; }

 private:
  const dev_t device_;
  std::int64_t bytes_ = 0;
  std::int64_t changed_ms_ = 0;
  std::uint32_t saves_ = 0;
  int entries_ = 0;
};

// Empties a folder that is ours alone. However deep it goes, two folders are open at a time: what lies in a folder of
// `top` comes up into `top` and is taken there, until nothing is left. 0 or the first errno.
class Emptying {
 public:
  Emptying(int top, dev_t device) : top_(top), device_(device) {}

  int Run() {
    for (;;) {
      const auto entries = ListFolder(top_);
      if (!entries.ok()) return EIO;
      if (entries->empty()) return 0;
      bool gone = false;
      for (const FolderEntry& entry : *entries)
        gone = (entry.is_folder ? Folder(entry.name) : File(top_, entry.name)) || gone;
      if (!gone) return error_ ? error_ : EBUSY;
    }
  }

 private:
  bool Failed() {
    if (error_ == 0) error_ = errno;
    return false;
  }
  bool File(int folder, const std::string& name) {
    return ::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT || Failed();
  }
  bool Folder(const std::string& name) {
    const UniqueFd folder = OpenIn(top_, name);
    struct stat info {};
    if (!folder || ::fstat(folder.get(), &info) != 0) return Failed();
    if (info.st_dev != device_) {  // somebody has mounted something there
      errno = EBUSY;
      return Failed();
    }
    const auto entries = ListFolder(folder.get());
    if (!entries.ok()) return Failed();
    for (const FolderEntry& entry : *entries) {
      if (entry.is_folder) {
        Raise(folder.get(), entry.name);
      } else {
        File(folder.get(), entry.name);
      }
    }
    return ::unlinkat(top_, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT || Failed();
  }
  void Raise(int folder, const std::string& name) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (::renameat(folder, name.c_str(), top_, (".raised-" + std::to_string(next_++)).c_str()) == 0) return;
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) break;  // a name that is taken
    }
    Failed();
  }

  const int top_;
  const dev_t device_;
  std::uint64_t next_ = 0;
  int error_ = 0;
};

// `name` in the place is nobody's any more.
Status Discard(int place, const std::string& name, dev_t device) {
  const UniqueFd folder = OpenIn(place, name);
  if (!folder && errno == ENOENT) return Status::Ok();
  if (!folder) {  // no folder: the entry goes, whatever it leads to stays
    return ::unlinkat(place, name.c_str(), 0) == 0 ? Status::Ok() : FileError("remove", name, errno);
  }
  if (const int error = Emptying(folder.get(), device).Run(); error != 0) return FileError("empty", name, error);
  if (::unlinkat(place, name.c_str(), AT_REMOVEDIR) != 0) return FileError("remove", name, errno);
  return Status::Ok();
}

void FinishRemovals(int place, const std::vector<FolderEntry>& entries, dev_t device) {
  for (const FolderEntry& entry : entries) {
    if (!entry.name.starts_with(kRemoving)) continue;
    if (!JobOf(std::string_view(entry.name).substr(kRemoving.size()))) continue;
    (void)Discard(place, entry.name, device);  // tried again with every look
  }
}

std::set<std::uint64_t> NotesIn(int place) {
  std::set<std::uint64_t> notes;
  const UniqueFd folder = OpenIn(place, kNotes);
  if (!folder) return notes;
  const auto entries = ListFolder(folder.get());
  for (const FolderEntry& entry : entries.ok() ? *entries : std::vector<FolderEntry>()) {
    if (const auto job = JobOf(entry.name)) notes.insert(*job);
  }
  return notes;
}

Status NoteEnded(int place, const std::vector<std::uint64_t>& jobs) {
  if (jobs.empty()) return Status::Ok();
  if (::mkdirat(place, kNotes, 0700) != 0 && errno != EEXIST) return FileError("make", kNotes, errno);
  const UniqueFd folder = OpenIn(place, kNotes);
  if (!folder) return FileError("open", kNotes, errno);
  for (const std::uint64_t job : jobs) {
    const std::string name = std::to_string(job);
    const UniqueFd note(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!note) return FileError("make", std::string(kNotes) + "/" + name, errno);
  }
  return Status::Ok();
}

void ForgetNotes(int place, const std::set<std::uint64_t>& jobs) {
  const UniqueFd folder = OpenIn(place, kNotes);
  if (!folder) return;
  for (const std::uint64_t job : jobs) ::unlinkat(folder.get(), std::to_string(job).c_str(), 0);
}

Status RemoveJob(int place, std::uint64_t job, dev_t device) {
  const std::string name = std::to_string(job), doomed = std::string(kRemoving) + name;
  struct stat info {};
  if (::fstatat(place, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return FileError("look at", name, errno);
  if (!S_ISDIR(info.st_mode)) return Status(StatusCode::kFailedPrecondition, name + " is no folder: it is left alone");
  if (info.st_dev != device) return Status(StatusCode::kFailedPrecondition, name + " is another file system");
  // From here on nobody finds it by its name, and a crash leaves nothing that looks like a job's saves.
  if (::renameat(place, name.c_str(), place, doomed.c_str()) != 0) return FileError("rename", name, errno);
  return Discard(place, doomed, device);
}

}  // namespace

Result<std::vector<FoundSaves>> FindSaves(const SavesPlace& place) {
  Result<UniqueFd> folder = OpenPlace(place);
  if (!folder.ok() && folder.status().code() == StatusCode::kNotFound) return std::vector<FoundSaves>();
  if (!folder.ok()) return folder.status();
  struct stat top {};
  if (::fstat(folder->get(), &top) != 0) return FileError("look at", place.name, errno);
  const auto entries = ListFolder(folder->get());
  if (!entries.ok()) return entries.status();
  FinishRemovals(folder->get(), *entries, top.st_dev);
  std::set<std::uint64_t> notes = NotesIn(folder->get());
  std::vector<FoundSaves> found;
  for (const FolderEntry& entry : *entries) {
    const auto job = JobOf(entry.name);
    if (!job || !entry.is_folder) continue;
    const UniqueFd saves = OpenIn(folder->get(), entry.name);
    struct stat info {};
    if (!saves || ::fstat(saves.get(), &info) != 0) continue;
    Measure measure(info.st_dev);
    measure.See(info);
    measure.Walk(saves.get(), 1);
    found.push_back({*job, measure.bytes(), measure.changed_ms(), notes.erase(*job) > 0, measure.saves()});
  }
  ForgetNotes(folder->get(), notes);  // of folders that somebody else has removed
  if (found.size() > kFoundSavesMax) {
    std::sort(found.begin(), found.end(), [](const FoundSaves& a, const FoundSaves& b) {
      return std::pair(a.changed_at_ms, a.job) < std::pair(b.changed_at_ms, b.job);
    });
    found.resize(kFoundSavesMax);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.job < b.job; });
  return found;
}

RemovedSaves RemoveSaves(const SavesPlace& place, const SavesOrder& order) {
  RemovedSaves removed;
  Result<UniqueFd> folder = OpenPlace(place);
  struct stat top {};
  if (!folder.ok() || ::fstat(folder->get(), &top) != 0) {
    removed.status = folder.ok() ? FileError("look at", place.name, errno) : folder.status();
    return removed;
  }
  removed.status = NoteEnded(folder->get(), order.note);
  std::set<std::uint64_t> gone;
  for (const std::uint64_t job : order.remove) {
    const Status status = RemoveJob(folder->get(), job, top.st_dev);
    if (status.ok()) gone.insert(job);
    if (removed.status.ok()) removed.status = status;
  }
  ForgetNotes(folder->get(), gone);
  removed.jobs.assign(gone.begin(), gone.end());
  return removed;
}

}  // namespace glim::nodeagent
