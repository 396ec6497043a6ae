#include "nodeagent/task/saves_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "sdk/io/trusted_folder.h"

namespace glim::nodeagent {
namespace {

std::string CutLast(std::string* path) {
  const std::size_t slash = path->rfind('/');
  if (slash == std::string::npos) return std::exchange(*path, "");
  std::string name = path->substr(slash + 1);
  path->resize(slash);
  return name;
}

UniqueFd OpenIn(int folder, const std::string& name) {
  return UniqueFd(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

SavesPath SplitSavesPath(const std::string& path) {
  SavesPath split;
  split.root = path;
  split.job = CutLast(&split.root);
  split.jobs = CutLast(&split.root);
  return split;
}

SavesFolder OpenSaves(int root, const SavesPath& path, uid_t owner, const std::function<void(int jobs)>& make) {
  SavesFolder saves;
  TrustedFolder jobs = OpenTrusted(root, path.jobs);
  if (jobs.error != 0) {
    saves.error = jobs.error;
    saves.why = std::move(jobs.why);
    return saves;
  }
  saves.fd = OpenIn(jobs.fd.get(), path.job);
  if (!saves.fd && errno == ENOENT && make) {
    make(jobs.fd.get());
    const int error = errno;
    saves.fd = OpenIn(jobs.fd.get(), path.job);
    if (!saves.fd && errno == ENOENT && error != 0) errno = error;
  }
  struct stat info {};
  if (!saves.fd || ::fstat(saves.fd.get(), &info) != 0) {
    saves.error = errno;
  } else if (info.st_uid != owner) {
    saves.error = EACCES;
    saves.why = path.root + "/" + path.jobs + "/" + path.job + " belongs to uid " + std::to_string(info.st_uid) +
                ", and the job to uid " + std::to_string(owner) +
                ": an operator looks whose saves are in it, and "
                "removes it or gives it to the job's user";
    saves.fd.Reset();
  }
  return saves;
}

}  // namespace glim::nodeagent
