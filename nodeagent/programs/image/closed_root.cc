#include "nodeagent/programs/image/closed_root.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "nodeagent/os/bare_root.h"
#include "nodeagent/os/become_user.h"
#include "nodeagent/os/last_words.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/programs/image/import_steps.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr int kLookMs = 500;
constexpr std::size_t kAnswerBytesMax = 8 << 20;
constexpr unsigned long kHarmless = MS_NOSUID | MS_NODEV;

Status RunQuietly(const ClosedRoot& root, const std::vector<std::string>& arguments, const char* doing) {
  const std::string words = root.work + ".words";
  const Result<int> code = RunProgram(arguments, words);
  const std::string last = code.ok() ? LastLineIn(words, "it gave no reason") : code.status().message();
  ::unlink(words.c_str());
  if (code.ok() && *code == 0) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, std::string("this node cannot ") + doing + ": " + last);
}

// A file system in a file that grows as it is filled: its bounds hold whatever is unpacked, and it is gone with one
// file.
Status MakeWork(const ClosedRoot& root) {
  const UniqueFd file(::open(root.work.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(root.bytes)) != 0) return FileError("make", root.work, errno);
  return RunQuietly(root,
                    {"/usr/sbin/mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", "-N",
                     std::to_string(root.files), "-E", "lazy_itable_init=1,nodiscard", root.work},
                    "make a file system to unpack an image in");
}

bool MakePlace(const std::string& path, bool folder) {
  if (folder) return ::mkdir(path.c_str(), 0755) == 0;
  return bool{UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644))};
}

// A file or folder of the node's, or of none, as a mount that stands nowhere yet. Where the new root is put together,
// the node's own paths may be hidden.
Result<UniqueFd> Apart(const std::string& path) {
  const UniqueFd found(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  UniqueFd clone = found ? CloneMount(found.get()) : UniqueFd();
  return clone ? Result<UniqueFd>(std::move(clone)) : FileError("take", path, errno);
}

// The file system of the work's file, whoever works there being its owner.
Result<UniqueFd> MountWork(const ClosedRoot& root) {
  const std::string at = root.work + ".at";
  if (::mkdir(at.c_str(), 0700) != 0 && errno != EEXIST) return FileError("make", at, errno);
  const Status mounted =
      RunQuietly(root, {"/usr/bin/mount", "-t", "ext4", "-o", "loop,nosuid,nodev,noexec", root.work, at},
                 "mount a file system from a file");
  Result<UniqueFd> work = mounted.ok() ? Apart(at) : Result<UniqueFd>(mounted);
  if (work.ok() && (::chown(at.c_str(), root.user.uid, root.user.gid) != 0 || ::chmod(at.c_str(), 0700) != 0)) {
    work = FileError("give away", at, errno);
  }
  if (mounted.ok()) (void)::umount2(at.c_str(), MNT_DETACH);
  ::rmdir(at.c_str());
  return work;
}

struct Shown {
  const char* place;
  int mount;  // a clone
  bool read_only;
};

Status Show(const std::vector<Shown>& all, const std::string& root) {
  for (const Shown& shown : all) {
    struct stat info {};
    const std::string place = root + shown.place;
    if (::fstat(shown.mount, &info) != 0 || !MakePlace(place, S_ISDIR(info.st_mode))) {
      return FileError("make", place, errno);
    }
    const UniqueFd at(::open(place.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at || RestrictMounts(shown.mount, shown.read_only) != 0 || AttachMounts(shown.mount, at.get()) != 0) {
      return FileError("show", place, errno);
    }
  }
  return Status::Ok();
}

// The first process of its own ids, root's yet: it goes behind the door, drops what it may, and works.
[[noreturn]] void BeFirst(const ClosedRoot& root, const std::vector<Shown>& shown, int answer) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::umask(022);
  const BareRootMore more{true, [&](const std::string& place) { return Show(shown, place); }};
  Status status = EnterBareRoot(more);
  if (status.ok() && ::mount("proc", "/proc", "proc", kHarmless | MS_NOEXEC, nullptr) != 0) {
    status = IoError(errno, "mount /proc");
  }
  const rlimit none{0, 0}, file{root.bytes, root.bytes};
  (void)::setrlimit(RLIMIT_CORE, &none);
  (void)::setrlimit(RLIMIT_FSIZE, &file);
  if (status.ok()) status = BecomeUser(root.user.uid, root.user.gid, root.user.groups, UniqueFd());
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the kernel forgets it when the user changes
  const std::string text = ToJson(status.ok() ? root.job() : NoImage(status));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(answer, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::_exit(0);
}

std::string Listen(const ClosedRoot& root, int answer) {
  std::string text, buffer(64 << 10, '\0');
  for (;;) {
    pollfd ready{answer, POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) == 0) {
      root.on_wait();
      continue;
    }
    const ssize_t n = ::read(answer, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || text.size() > kAnswerBytesMax) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

ImageAnswer WorkIn(const ClosedRoot& root) {
  if (Status status = MakeWork(root); !status.ok()) return NoImage(status);
  // The image is filled by whoever works there; who has it open then is gone when this comes back.
  if (::chown(root.image.c_str(), root.user.uid, root.user.gid) != 0) {
    return NoImage(FileError("give away", root.image, errno));
  }
  const Result<UniqueFd> work = MountWork(root), image = Apart(root.image), etc = Apart("/etc"),
                         random = Apart("/dev/urandom");
  for (const Result<UniqueFd>* mount : {&work, &image, &etc, &random}) {
    if (!mount->ok()) return NoImage(mount->status());
  }
  std::vector<Shown> shown = {{kWork, work->get(), false},
                              {kImage, image->get(), false},
                              {"/etc", etc->get(), true},
                              {"/dev/urandom", random->get(), false}};
  if (root.source) shown.push_back({kSource, root.source.get(), true});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return NoImage(IoError(errno, "make a pipe"));
  UniqueFd read(ends[0]), write(ends[1]);
  if (::unshare(CLONE_NEWPID) != 0) return NoImage(IoError(errno, "leave the node's process ids"));
  const pid_t first = ::fork();
  if (first == 0) BeFirst(root, shown, write.get());
  if (first < 0) return NoImage(IoError(errno, "fork"));
  write.Reset();
  const std::string text = Listen(root, read.get());
  ::kill(first, SIGKILL);
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  ::unlink(root.work.c_str());
  Result<ImageAnswer> told = ParseImageAnswer(text);
  if (!told.ok()) return NoImage(Status(StatusCode::kUnavailable, "the image was not unpacked: glim-image was killed"));
  told->file.clear();
  return std::move(*told);
}

}  // namespace glim::nodeagent
