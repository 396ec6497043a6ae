#include "nodeagent/saves/save_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "nodeagent/saves/copy_note.h"
#include "nodeagent/saves/save_tree.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kHalfPrefix = ".copy-";
constexpr const char* kSaveName = "save";
constexpr std::chrono::milliseconds kBusyPause{500};
constexpr std::chrono::milliseconds kNap{50};

std::string CheckpointsFolder(const std::string& state_dir) { return state_dir + "/checkpoints"; }

void RemoveHalfCopies(const std::string& state_dir, const std::string& prefix) {
  std::error_code error;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator it(CheckpointsFolder(state_dir), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path().string());
  }
  for (const std::string& path : found) (void)RemoveFolder(path);
}

// A private folder for one copy, removed with all that is in it.
class HalfCopy {
 public:
  HalfCopy(const std::string& state_dir, std::uint64_t job) {
    static std::atomic<unsigned> number{0};
    path_ = CheckpointsFolder(state_dir) + "/" + kHalfPrefix + std::to_string(job) + "-" + std::to_string(++number);
  }
  ~HalfCopy() { (void)RemoveFolder(path_); }
  HalfCopy(const HalfCopy&) = delete;
  HalfCopy& operator=(const HalfCopy&) = delete;

  Status Make() {
    if (Status status = MakeFolders(path_); !status.ok()) return status;
    Result<UniqueFd> fd = OpenFolder(path_);
    if (!fd.ok()) return fd.status();
    fd_ = std::move(fd).value();
    return Status::Ok();
  }
  Status Empty() { return RemoveFolder(path_ + "/" + kSaveName); }
  int fd() const { return fd_.get(); }

 private:
  std::string path_;
  UniqueFd fd_;
};

class SaveCopying {
 public:
  SaveCopying(const CopyPlace& place, const CopyOrder& order, CopyProgress& progress)
      : place_(place), order_(order), progress_(progress), name_{order.job, order.local, order.identity} {}

  Status Run() {
    if (!IsLocalPath(order_.local)) {
      return InvalidArgument("base.local", "base.local \"" + order_.local + "\" is no path below a folder");
    }
    RemoveHalfCopies(place_.state_dir, kHalfPrefix + std::to_string(order_.job) + "-");
    const bool there = IsThere();
    if (order_.sources.empty()) {
      if (there && !order_.parts) return Status::Ok();
      return Status(StatusCode::kNotFound,
                    Named() + (order_.parts ? " has a part on a node that cannot be reached"
                                            : " is not there, and no other node is known to have it"));
    }
    if (there && IsOurCopy(place_.state_dir, name_)) return Status::Ok();
    HalfCopy half(place_.state_dir, order_.job);
    if (Status status = half.Make(); !status.ok()) return status;
    Status status = order_.parts ? FetchParts(half, there) : FetchWhole(half);
    if (status.ok()) status = SyncFolders(half);
    if (status.ok() && progress_.cancelled) status = Stopped();
    return status.ok() ? Publish(half) : status;
  }

 private:
  std::string Named() const { return "save " + order_.local + " of job " + std::to_string(order_.job); }
  static Status Stopped() { return Status(StatusCode::kCancelled, "the copy was stopped"); }

  bool IsThere() const {
    const Result<UniqueFd> folder = OpenFolder(OwnCheckpointFolder(place_.state_dir, order_.job));
    return folder.ok() && OpenBelow(folder->get(), order_.local, O_RDONLY | O_NONBLOCK).ok();
  }

  Status Fetch(const SaveSource& source, SaveWriter& writer) {
    const FetchQuestion question{order_.job, order_.local, place_.node};
    const auto until = std::chrono::steady_clock::now() + place_.busy;
    for (;;) {
      Status status = FetchFrom(source, question, place_.stall, progress_, writer);
      const bool busy = status.code() == StatusCode::kResourceExhausted && !writer.own_error();
      if (!busy || std::chrono::steady_clock::now() >= until) return status;
      if (order_.sources.size() > 1 && !order_.parts) return status;  // FetchWhole asks the others first
      Pause();
    }
  }

  void Pause() const {
    const auto until = std::chrono::steady_clock::now() + kBusyPause;
    while (!progress_.cancelled && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kNap);
  }

  // From the first source that has it. While the only fault of some is that they are busy, all are asked again.
  Status FetchWhole(HalfCopy& half) {
    const auto until = std::chrono::steady_clock::now() + place_.busy;
    for (;;) {
      std::string causes;
      bool busy = false;
      for (const SaveSource& source : order_.sources) {
        if (source.node == place_.node) continue;
        if (progress_.cancelled) return Stopped();
        if (Status status = half.Empty(); !status.ok()) return status;
        SaveWriter writer(half.fd(), kSaveName, order_.owner);
        const Status status = Fetch(source, writer);
        if (status.ok()) return status;
        if (progress_.cancelled) return Stopped();
        if (writer.own_error()) return Failed("", status);
        busy = busy || status.code() == StatusCode::kResourceExhausted;
        causes += (causes.empty() ? "" : "; ") + Cause(source, status);
      }
      if (!busy || std::chrono::steady_clock::now() >= until) {
        return Status(StatusCode::kUnavailable, Named() + " could not be copied: " + causes);
      }
      Pause();
    }
  }

  Status FetchParts(HalfCopy& half, bool there) {
    SaveWriter writer(half.fd(), kSaveName, order_.owner);
    for (const SaveSource& source : order_.sources) {
      if (source.node == place_.node) continue;
      const Status status = Fetch(source, writer);
      if (progress_.cancelled) return Stopped();
      if (!status.ok()) return Failed(writer.own_error() ? "" : Cause(source, status), status);
    }
    return there ? LinkOwnPart(half, writer) : Status::Ok();
  }

  // This node's own files of the save: nothing is copied, they get a second name.
  Status LinkOwnPart(HalfCopy& half, const SaveWriter& writer) {
    Result<UniqueFd> folder = OpenFolder(OwnCheckpointFolder(place_.state_dir, order_.job));
    if (!folder.ok()) return folder.status();
    const Status status =
        WalkTree(folder->get(), order_.local, {}, FolderOrder::kBefore, [&](const TreeEntry& entry) -> Status {
          if (writer.Has(entry.path)) return Status::Ok();
          const std::string placed = entry.path.empty() ? kSaveName : std::string(kSaveName) + "/" + entry.path;
          if (entry.folder) return MakeFoldersBelow(half.fd(), placed, order_.owner, Durability::kProcess).status();
          if (entry.path.empty()) return Status::Ok();  // a file where the others have a folder
          const std::size_t slash = placed.rfind('/');
          Result<UniqueFd> parent =
              MakeFoldersBelow(half.fd(), placed.substr(0, slash), order_.owner, Durability::kProcess);
          if (!parent.ok()) return parent.status();
          if (::linkat(entry.parent, entry.name.c_str(), parent->get(), placed.substr(slash + 1).c_str(), 0) == 0) {
            return Status::Ok();
          }
          return FileError("link", entry.path, errno);
        });
    return status.ok() ? status : Failed("", status);
  }

  static std::string Cause(const SaveSource& source, const Status& status) {
    return "node " + source.node + " (" + source.address + "): " + status.message();
  }
  Status Failed(const std::string& cause, const Status& status) const {
    return {status.code(), Named() + " could not be copied: " + (cause.empty() ? status.message() : cause)};
  }

  Status SyncFolders(const HalfCopy& half) const {
    return WalkTree(half.fd(), kSaveName, {}, FolderOrder::kAfter, [](const TreeEntry& entry) {
      if (!entry.folder || ::fsync(entry.fd) == 0) return Status::Ok();
      return FileError("sync", entry.path, errno);
    });
  }

  Result<UniqueFd> JobFolder() const {
    const std::string path = OwnCheckpointFolder(place_.state_dir, order_.job);
    Result<UniqueFd> checkpoints = OpenFolder(CheckpointsFolder(place_.state_dir));
    if (!checkpoints.ok()) return checkpoints.status();
    return MakeFoldersBelow(checkpoints->get(), std::to_string(order_.job), order_.owner, Durability::kMachine);
  }

  // From here on the save is there. What was at its place goes with the half copy's folder.
  Status Publish(const HalfCopy& half) {
    const std::size_t slash = order_.local.rfind('/');
    const std::string above = slash == std::string::npos ? "" : order_.local.substr(0, slash);
    Result<UniqueFd> job = JobFolder();
    if (!job.ok()) return Failed("", job.status());
    Result<UniqueFd> parent = MakeFoldersBelow(job->get(), above, order_.owner, Durability::kMachine);
    if (!parent.ok()) return Failed("", parent.status());
    ForgetCopy(place_.state_dir, name_);
    const std::string name = order_.local.substr(slash + 1);
    if (::renameat2(half.fd(), kSaveName, parent->get(), name.c_str(), RENAME_NOREPLACE) != 0 &&
        (errno != EEXIST || ::renameat2(half.fd(), kSaveName, parent->get(), name.c_str(), RENAME_EXCHANGE) != 0)) {
      return Failed("", FileError("put into place", order_.local, errno));
    }
    if (::fsync(parent->get()) != 0) return Failed("", FileError("sync the folder of", order_.local, errno));
    // Without the note the copy is made once more than needed, and that is all.
    (void)NoteCopy(place_.state_dir, name_);
    return Status::Ok();
  }

  const CopyPlace& place_;
  const CopyOrder& order_;
  CopyProgress& progress_;
  const CopyName name_;
};

}  // namespace

Status CopySave(const CopyPlace& place, const CopyOrder& order, CopyProgress& progress) {
  return SaveCopying(place, order, progress).Run();
}

void SweepCopies(const std::string& state_dir) {
  RemoveHalfCopies(state_dir, kHalfPrefix);
  SweepNotes(state_dir);
}

}  // namespace glim::nodeagent
