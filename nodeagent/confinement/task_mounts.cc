#include "nodeagent/confinement/task_mounts.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "nodeagent/os/file_user.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/spawn_process.h"
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

Status Unusable(const TaskMount& mount, int error) {
  if (error == ENOENT) return PathMissing(mount.field, mount.named);
  // It was found without links and with folders alone on its way.
  if (error == ELOOP || error == ENOTDIR)
    return Refuse(mount, "was exchanged for something else while the job started");
  return Status(StatusCode::kFailedPrecondition,
                mount.field + " " + mount.named + " cannot be used on this node: " + std::strerror(error))
      .WithField(mount.field);
}

// As the task's user, as whom a server that trusts nobody's root lets us pass; else as ourselves: the folders above may
// be the operator's.
UniqueFd OpenAsUser(const std::string& path, const TaskUser& user) {
  if (user.uid != ::geteuid()) {
    const FileUser as(user.uid, user.gid, user.groups);
    UniqueFd fd = OpenWithoutLinks(path);
    if (fd || (errno != EACCES && errno != EPERM)) return fd;
  }
  return OpenWithoutLinks(path);
}

Status MakePlace(const std::string& place, bool folder) {
  if (folder) return MakeFolder(place);
  const UniqueFd fd(::open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return fd ? Status::Ok() : FileError("create", place, errno);
}

Status MountOne(const TaskMount& mount, const MakeRules& rules) {
  const UniqueFd found = OpenAsUser(mount.real, rules.owner);
  if (!found) return Unusable(mount, errno);
  // Folders on the way may have been moved while it was walked.
  const std::string now = PathOf(found.get());
  if (now.empty() || !IsAllowed(rules, now)) return Refuse(mount, "was moved out of what this node gives to jobs");
  struct stat info {};
  if (::fstat(found.get(), &info) != 0) return Unusable(mount, errno);
  if (Status status = MakePlace(mount.place, S_ISDIR(info.st_mode)); !status.ok()) return status;
  const UniqueFd clone = CloneMounts(found.get());
  if (clone && RestrictMounts(clone.get(), mount.read_only) == 0 && AttachMounts(clone.get(), mount.place) == 0) {
    return Status::Ok();
  }
  return Unusable(mount, errno);
}

Status Become(const std::vector<std::string>& program) {
  std::vector<std::string> words = program;
  ::execve(words[0].c_str(), Pointers(words).data(), environ);
  return Status(StatusCode::kFailedPrecondition, "cannot start " + program[0] + ": " + std::strerror(errno));
}

// An agent of before this version, whose programs have been exchanged under it, has left none: it named the job's own
// paths to the runtime. One that names places below the bundle always leaves one.
Result<MountOrder> ReadOrder(const std::string& bundle) {
  const Result<std::string> text = ReadFile(MountOrderFile(bundle), kOrderBytesMax);
  if (text.ok()) return ParseMountOrder(*text);
  return text.status().code() == StatusCode::kNotFound ? MountOrder{} : Result<MountOrder>(text.status());
}

}  // namespace

std::string ToJson(const MountOrder& order) {
  const MakeRules& rules = order.rules;
  json mounts = json::array();
  for (const TaskMount& m : order.mounts) mounts.push_back({m.field, m.named, m.real, m.place, m.read_only});
  json value = JsonOf(rules.owner);
  value.update({{"allow", rules.allow}, {"state_dir", rules.state_dir}, {"mounts", mounts}});
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<MountOrder> ParseMountOrder(const std::string& text) {
  try {
    const json value = json::parse(text);
    MountOrder order;
    order.rules = {value.at("allow").get<std::vector<std::string>>(), value.at("state_dir").get<std::string>(),
                   UserFromJson(value)};
    for (const json& m : value.at("mounts")) {
      order.mounts.push_back({m.at(0).get<std::string>(), m.at(1).get<std::string>(), m.at(2).get<std::string>(),
                              m.at(3).get<std::string>(), m.at(4).get<bool>()});
    }
    return order;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("the order of mounts: ") + error.what());
  }
}

Status MountAll(const MountOrder& order) {
  if (order.mounts.empty()) return Status::Ok();
  if (LeaveNodesMounts() != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  std::string("this node cannot keep the task's mounts apart: ") + std::strerror(errno));
  }
  for (const TaskMount& mount : order.mounts) {
    if (Status status = MountOne(mount, order.rules); !status.ok()) return status;
  }
  return Status::Ok();
}

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
