#include "nodeagent/programs/image/image_import.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/images/image_folder.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/programs/image/closed_root.h"
#include "nodeagent/programs/image/import_steps.h"
#include "nodeagent/programs/image/registry_address.h"
#include "scheduler/core/model/image_name.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"
#include "sdk/snapshot/sha256.h"

namespace glim::nodeagent {
namespace {

using core::ImageKind;

// Nobody on a node has this id (systemd gives such ones to services for as long as these run): who fetches images that
// many users may share is none of them.
constexpr uid_t kFetcher = 64'911;

constexpr int kLockLookMs = 500;
constexpr std::uint64_t kRoomLeft = std::uint64_t{1} << 30;  // of the disk, for others

// The same path, user and bytes as far as their times tell: another file there is another image.
Result<std::string> KeyOfFile(const ImageOrder& order, const core::ImageName& name, int source) {
  struct stat info {};
  const bool folder = name.kind == ImageKind::kOciFolder;
  const int found = folder ? ::fstatat(source, "index.json", &info, 0) : ::fstat(source, &info);
  if (found != 0) return FileError("look at", order.image, errno);
  std::string text = std::to_string(order.rules.owner.uid) + "\n" + order.image + "\n" + order.real;
  for (const std::int64_t part : {static_cast<std::int64_t>(info.st_dev), static_cast<std::int64_t>(info.st_ino),
                                  static_cast<std::int64_t>(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                                  info.st_ctim.tv_sec, info.st_ctim.tv_nsec}) {
    text += "\n" + std::to_string(part);
  }
  return "file-" + snapshot::Sha256Hex(text);
}

std::string KeyOfRegistry(const core::ImageName& name) {
  std::string key = name.digest;
  std::replace(key.begin(), key.end(), ':', '-');
  return key;
}

// An open descriptor of it, as its user, below what the node gives to jobs.
Result<UniqueFd> OpenSource(const ImageOrder& order, const core::ImageName& name) {
  TaskMount mount;
  mount.field = "image";
  mount.named = name.path;
  mount.real = order.real;
  Result<UniqueFd> source = OpenNamed(mount, order.rules);
  struct stat info {};
  if (!source.ok() || ::fstat(source->get(), &info) != 0) return source;
  const bool folder = name.kind == ImageKind::kOciFolder;
  if (folder ? S_ISDIR(info.st_mode) : S_ISREG(info.st_mode)) return source;
  return InvalidArgument("image", "image " + order.image + ": " + name.path + " is no " + (folder ? "folder" : "file"),
                         "name one that is");
}

Status Flush(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file || ::fchown(file.get(), 0, 0) != 0 || ::fchmod(file.get(), 0400) != 0 || ::fsync(file.get()) != 0) {
    return FileError("keep", path, errno);
  }
  return Status::Ok();
}

class Importer {
 public:
  Importer(const ImageOrder& order, ImportPlan plan, std::string key, UniqueFd source)
      : order_(order),
        plan_(std::move(plan)),
        folder_(order.folder),
        key_(std::move(key)),
        source_(std::move(source)) {}

  ImageAnswer Have() {
    if (std::optional<ImageFacts> facts = folder_.Use(key_)) return Here(std::move(*facts));
    // Until the last process of the import has ended: each of them has the descriptor.
    const UniqueFd lock(::open(folder_.LockOf(key_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return NoImage(FileError("open", folder_.LockOf(key_), errno));
    while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return NoImage(FileError("lock", folder_.LockOf(key_), errno));
      (void)::poll(nullptr, 0, kLockLookMs);
      Tell();
    }
    if (std::optional<ImageFacts> facts = folder_.Use(key_)) return Here(std::move(*facts));
    folder_.Sweep(key_);
    ImageAnswer answer = Make();
    folder_.Sweep(key_);
    return answer;
  }

 private:
  void Tell() {
    bytes_ = std::max(bytes_, folder_.BytesUnderWay(key_));
    (void)WriteFileAtomically(order_.progress, std::to_string(bytes_), Durability::kProcess);
  }

  ImageAnswer Here(ImageFacts facts) const { return {folder_.FileOf(key_), std::move(facts), StartFault::kNode, ""}; }

  Result<std::uint64_t> Room() const {
    struct statvfs disk {};
    if (::statvfs(order_.folder.c_str(), &disk) != 0) return FileError("look at", order_.folder, errno);
    const std::uint64_t free = disk.f_bavail * disk.f_frsize;
    if (free > 2 * kRoomLeft) return std::min(order_.bounds.unpacked_bytes, free - kRoomLeft);
    return Status(StatusCode::kUnavailable, "the disk of this node's images is full: " + order_.folder)
        .WithFix("make room there, or ask the operator to");
  }

  ImageAnswer Make() {
    if (plan_.name.kind == ImageKind::kRegistry) {
      const Result<RegistryWay> way = WayTo(plan_.name.registry, order_.registries);
      if (!way.ok()) return NoImage(way.status());
      plan_.plain_http = way->plain;
    }
    folder_.MakeRoom(order_.bounds.folder_bytes);
    const Result<std::uint64_t> room = Room();
    if (!room.ok()) return NoImage(room.status());
    plan_.by_disk = *room < order_.bounds.unpacked_bytes;
    const UniqueFd part(
        ::open(folder_.PartOf(key_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!part) return NoImage(FileError("make", folder_.PartOf(key_), errno));
    ClosedRoot root;
    root.user = source_ ? order_.rules.owner : TaskUser{kFetcher, kFetcher, {}};
    root.source = std::move(source_);
    root.image = folder_.PartOf(key_);
    root.work = folder_.WorkOf(key_);
    root.bytes = *room;
    root.files = order_.bounds.files;
    root.job = [this] { return Import(plan_); };
    root.on_wait = [this] { Tell(); };
    ImageAnswer answer = WorkIn(root);
    if (!answer.message.empty()) return answer;
    struct stat info {};
    Status kept = Flush(root.image);
    if (::stat(root.image.c_str(), &info) == 0) answer.facts.bytes = static_cast<std::uint64_t>(info.st_size);
    if (kept.ok()) kept = folder_.Keep(key_, answer.facts);
    return kept.ok() ? Here(std::move(answer.facts)) : NoImage(kept);
  }

  const ImageOrder& order_;
  ImportPlan plan_;
  const ImageFolder folder_;
  const std::string key_;
  UniqueFd source_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

ImageAnswer HaveImage(const ImageOrder& order) {
  const Result<core::ImageName> name = core::ParseImageName(order.image);
  if (!name.ok()) return NoImage(name.status());
  if (name->kind == ImageKind::kHost) return NoImage(InvalidArgument("image", "image host is no image"));
  if (LeaveNodesMounts() != 0) return NoImage(IoError(errno, "leave the node's mounts"));
  if (name->kind == ImageKind::kRegistry) return Importer(order, {*name}, KeyOfRegistry(*name), {}).Have();
  Result<UniqueFd> source = OpenSource(order, *name);
  if (!source.ok()) return NoImage(source.status());
  const Result<std::string> key = KeyOfFile(order, *name, source->get());
  if (!key.ok()) return NoImage(key.status());
  // Of these mounts: where it is unpacked there will be others.
  UniqueFd clone = CloneMount(source->get());
  if (!clone) return NoImage(FileError("look at", order.image, errno));
  return Importer(order, {*name}, *key, std::move(clone)).Have();
}

}  // namespace glim::nodeagent
