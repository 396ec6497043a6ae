#include "nodeagent/options/secrets_folder.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>

#include "nodeagent/task/sealed_file.h"

namespace glim::nodeagent {
namespace {

bool IsInMemory(const std::string& folder) {
  struct statfs info {};
  if (folder.empty() || folder[0] != '/' || ::statfs(folder.c_str(), &info) != 0) return false;
  const auto type = static_cast<unsigned long>(info.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

// root's is the whole machine's, and no session's, with which it would go.
std::string OfThisUser() {
  if (::geteuid() == 0) return "/run";
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  return folder == nullptr ? "" : folder;
}

}  // namespace

std::string SecretsFolder(const std::string& state_dir) {
  for (const std::string& parent : {OfThisUser(), std::string("/dev/shm")}) {
    if (IsInMemory(parent)) return parent + "/glim-secrets-" + ChecksumText(state_dir);
  }
  return "";
}

}  // namespace glim::nodeagent
