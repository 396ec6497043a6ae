#include "nodeagent/confinement/task_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "nodeagent/os/file_user.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/spawn_process.h"
#include "nodeagent/task/saves_folder.h"
#include "nodeagent/task/start_fault.h"
#include "nodeagent/task/task_user_json.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

extern char** environ;

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::size_t kOrderBytesMax = 1 << 20;
constexpr std::size_t kFaultBytesMax = 1 << 16;
constexpr const char* kFix = "leave the folders of its path alone while the job starts";

Status Refuse(const TaskMount& mount, const std::string& what) {
  return InvalidArgument(mount.field, mount.field + " " + mount.named + " " + what, kFix);
}

Status Unusable(const TaskMount& mount, const TaskUser& user, int error) {
  if (error == ENOENT) return PathMissing(mount.field, mount.named);
  if (error == EACCES) return PathDenied(mount.field, mount.named, user.uid);
  // It was found without links and with folders alone on its way.
  if (error == ELOOP || error == ENOTDIR)
    return Refuse(mount, "was exchanged for something else while the job started");
  return Status(StatusCode::kFailedPrecondition,
                mount.field + " " + mount.named + " cannot be used on this node: " + std::strerror(error))
      .WithField(mount.field);
}

// As the task's user, with no more than that one's rights, and as whom a server that trusts nobody's root lets us pass.
// What the agent of before may pass to is the user's own all the same.
Result<UniqueFd> OpenAsUser(const TaskMount& mount, const TaskUser& user) {
  UniqueFd fd;
  int error = 0;
  {
    std::optional<FileUser> as;
    if (user.uid != ::geteuid()) as.emplace(user.uid, user.gid, user.groups);
    fd = OpenWithoutLinks(mount.real);
    error = errno;
  }
  if (!fd && mount.by_agent && user.uid != ::geteuid() && (error == EACCES || error == EPERM)) {
    fd = OpenWithoutLinks(mount.real);
    struct stat info {};
    error = fd ? EACCES : errno;
    if (fd && (::fstat(fd.get(), &info) != 0 || info.st_uid != user.uid)) fd.Reset();
  }
  return fd ? Result<UniqueFd>(std::move(fd)) : Unusable(mount, user, error);
}

// Glim's own choice, ROOT/jobs/JOB: as the user, and where that one may not pass as who mounts.
Result<UniqueFd> OpenSavesFolder(const TaskMount& mount, const TaskUser& user) {
  const SavesPath path = SplitSavesPath(mount.real);
  const auto open = [&] {
    const UniqueFd root = OpenWithoutLinks(path.root.empty() ? "/" : path.root);
    SavesFolder saves;
    if (root) return OpenSaves(root.get(), path, user.uid);
    saves.error = errno;
    return saves;
  };
  SavesFolder saves;
  if (user.uid != ::geteuid()) {
    const FileUser as(user.uid, user.gid, user.groups);
    saves = open();
  }
  if (!saves.fd) saves = open();
  if (saves.fd) return std::move(saves.fd);
  if (!saves.why.empty()) return PathUntrusted(mount.field, mount.named, saves.why);
  return Unusable(mount, user, saves.error);
}

// The operator's and the agent's own: nobody exchanges a part of its path.
Result<UniqueFd> OpenOwn(const TaskMount& mount) {
  UniqueFd found = OpenFollowingLinks(mount.real);
  return found ? Result<UniqueFd>(std::move(found)) : FileError("open", mount.real, errno);
}

// `by_today`: the order is of an agent that knows which folders are its own choice.
Result<UniqueFd> OpenUsers(const TaskMount& mount, const MakeRules& rules, bool by_today) {
  Result<UniqueFd> found =
      mount.by_agent && by_today ? OpenSavesFolder(mount, rules.owner) : OpenAsUser(mount, rules.owner);
  if (!found.ok()) return found;
  // Folders on the way may have been moved while it was walked.
  const std::string now = PathOf(found->get());
  if (now.empty() || !IsAllowed(rules, now)) return Refuse(mount, "was moved out of what this node gives to jobs");
  return found;
}

Status NoPlace(const TaskMount& mount, int error) {
  const std::string what = "place " + mount.target + " in the task's container";
  if (mount.field.empty()) return FileError("make a", what, error);
  // Beneath another of the job's mounts, where its user may make nothing, or has a link or a file on the way.
  return InvalidArgument(
      mount.field,
      mount.field + " " + mount.named + ": there is no " + what + ", and it cannot be made: " + std::strerror(error),
      "make that folder yourself, without links in its path, or mount it elsewhere");
}

// Of an agent of before, in the task's bundle, where its configuration of the runtime looks for it.
UniqueFd PlaceInBundle(const std::string& path, bool folder) {
  if (folder) {
    (void)::mkdir(path.c_str(), 0700);
  } else {
    const UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  return UniqueFd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// `root`: none where an agent of before gave the order.
Status MountOne(const TaskMount& mount, const MakeRules& rules, const ContainerRoot* root) {
  const Result<UniqueFd> found = mount.own ? OpenOwn(mount) : OpenUsers(mount, rules, root != nullptr);
  if (!found.ok()) return found.status();
  struct stat info {};
  if (::fstat(found->get(), &info) != 0) return Unusable(mount, rules.owner, errno);
  const bool folder = S_ISDIR(info.st_mode);
  const UniqueFd place =
      root != nullptr ? root->Place(mount.target, folder, rules.owner) : PlaceInBundle(mount.target, folder);
  if (!place) return NoPlace(mount, errno);
  const UniqueFd clone = CloneMounts(found->get());
  if (clone && RestrictMounts(clone.get(), mount.read_only) == 0 && AttachMounts(clone.get(), place.get()) == 0) {
    return Status::Ok();
  }
  return errno == ENOTDIR ? NoPlace(mount, errno) : Unusable(mount, rules.owner, errno);
}

Status MountHugePages(const MountOrder& order, const ContainerRoot& root) {
  const TaskUser& user = order.rules.owner;
  const UniqueFd place = root.Place(kHugePagesTarget, true, user);
  if (!place) return FileError("make a", std::string("place ") + kHugePagesTarget + " in the task's container", errno);
  const std::string options = "pagesize=" + std::to_string(order.huge_page_kib) +
                              "K,mode=0700,uid=" + std::to_string(user.uid) + ",gid=" + std::to_string(user.gid);
  const std::string path = "/proc/self/fd/" + std::to_string(place.get());
  if (::mount("hugetlbfs", path.c_str(), "hugetlbfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0) return Status::Ok();
  return FileError("mount huge pages at", kHugePagesTarget, errno);
}

Status Become(const std::vector<std::string>& program) {
  std::vector<std::string> words = program;
  ::execve(words[0].c_str(), Pointers(words).data(), environ);
  return Status(StatusCode::kFailedPrecondition, "cannot start " + program[0] + ": " + std::strerror(errno));
}

Result<MountOrder> ReadOrder(const std::string& bundle) {
  const Result<std::string> text = ReadFile(MountOrderFile(bundle), kOrderBytesMax);
  return text.ok() ? ParseMountOrder(*text) : Result<MountOrder>(text.status());
}

}  // namespace

std::string ToJson(const MountOrder& order) {
  const MakeRules& rules = order.rules;
  json mounts = json::array();
  for (const TaskMount& m : order.mounts) {
    mounts.push_back({m.field, m.named, m.real, m.target, m.read_only, m.by_agent, m.own});
  }
  json value = JsonOf(rules.owner);
  value.update({{"allow", rules.allow},
                {"state_dir", rules.state_dir},
                {"mounts", mounts},
                {"root", order.root},
                {"image", order.image},
                {"huge_page_kib", order.huge_page_kib},
                {"root_owner", order.root_owner}});
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<MountOrder> ParseMountOrder(const std::string& text) {
  try {
    const json value = json::parse(text);
    MountOrder order;
    order.rules = {value.at("allow").get<std::vector<std::string>>(), value.at("state_dir").get<std::string>(),
                   UserFromJson(value)};
    order.root = value.value("root", "");  // not in the files of earlier versions
    order.root_owner = value.value("root_owner", uid_t{0});
    order.image = value.value("image", "");
    order.huge_page_kib = value.value("huge_page_kib", std::uint64_t{0});
    for (const json& m : value.at("mounts")) {
      // They knew five: what the user may not reach they reached themselves. It has to be the user's now.
      const bool known = m.size() > 5 || !order.root.empty();
      order.mounts.push_back({m.at(0).get<std::string>(), m.at(1).get<std::string>(), m.at(2).get<std::string>(),
                              m.at(3).get<std::string>(), m.at(4).get<bool>(), known ? m.at(5).get<bool>() : true,
                              known && m.at(6).get<bool>()});
    }
    return order;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("the order of mounts: ") + error.what());
  }
}

Status MountAll(const MountOrder& order) {
  if (LeaveNodesMounts() != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  std::string("this node cannot keep the task's mounts apart: ") + std::strerror(errno));
  }
  std::optional<ContainerRoot> root;
  if (!order.root.empty()) {
    Result<ContainerRoot> mounted = ContainerRoot::Mount(order.root_owner, order.image, order.root);
    if (!mounted.ok()) return mounted.status();
    root = std::move(*mounted);
  }
  for (const TaskMount& mount : order.mounts) {
    if (Status status = MountOne(mount, order.rules, root ? &*root : nullptr); !status.ok()) return status;
  }
  if (root && order.huge_page_kib > 0) {
    if (Status status = MountHugePages(order, *root); !status.ok()) return status;
  }
  return root ? root->Finish() : Status::Ok();
}

Result<UniqueFd> OpenNamed(const TaskMount& mount, const MakeRules& rules) { return OpenUsers(mount, rules, true); }

int RunWithMounts(const std::string& bundle, const std::vector<std::string>& program) {
  ::prctl(PR_SET_NAME, "glim-mounts");  // whoever hangs here is seen by name
  const Result<MountOrder> order = ReadOrder(bundle);
  Status status = order.ok() ? MountAll(*order) : order.status();
  if (status.ok()) status = Become(program);
  const std::string fault = std::string(ToWord(FaultOf(status))) + " " + WithFix(status);
  if (const Status written = WriteFileAtomically(MountFaultFile(bundle), fault, Durability::kProcess); !written.ok()) {
    std::fprintf(stderr, "%s\n%s\n", written.message().c_str(), status.message().c_str());
  }
  return 1;
}

Status ReadMountFault(const std::string& bundle) {
  const Result<std::string> fault = ReadFile(MountFaultFile(bundle), kFaultBytesMax);
  const std::size_t blank = fault.ok() ? fault->find(' ') : std::string::npos;
  if (blank == std::string::npos) return Status::Ok();
  return StartFailure(StartFaultOf(fault->substr(0, blank)), fault->substr(blank + 1));
}

}  // namespace glim::nodeagent
