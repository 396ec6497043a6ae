#include "sdk/io/trusted_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace glim {
namespace {

std::string Octal(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%o", static_cast<unsigned>(mode));
  return text;
}

std::string ShownPath(int fd) {
  char path[4096];
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "the folder";
}

}  // namespace

TrustedFolder OpenTrusted(int above, const std::string& name, std::optional<uid_t> whose) {
  TrustedFolder found;
  UniqueFd fd(::openat(above, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {
  }, info_above{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || ::fstat(above, &info_above) != 0) {
    found.error = errno;
    return found;
  }
  constexpr mode_t kOthersWrite = 022;
  if (info.st_uid != 0 && info.st_uid != ::geteuid() && info.st_uid != info_above.st_uid && info.st_uid != whose) {
    found.why = ShownPath(fd.get()) + " belongs to uid " + std::to_string(info.st_uid) +
                ": an operator removes it or takes it (chown root)";
  } else if ((info.st_mode & kOthersWrite) != 0 && (info.st_mode & S_ISVTX) == 0) {
    found.why = ShownPath(fd.get()) + " has mode " + Octal(info.st_mode & 07777) +
                ", so that users may exchange what is in it: an operator closes it (chmod go-w) or makes it sticky "
                "(chmod +t)";
  }
  if (found.why.empty()) {
    found.fd = std::move(fd);
  } else {
    found.error = EACCES;
  }
  return found;
}

int MakeTrusted(int above, const std::string& name, mode_t mode) {
  if (::mkdirat(above, name.c_str(), 0700) != 0) return errno == EEXIST ? 0 : errno;
  const UniqueFd fd(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool ours = fd && ::fstat(fd.get(), &info) == 0 && info.st_uid == ::geteuid();
  if (ours && ::fchmod(fd.get(), mode) == 0) return 0;
  const int error = ours ? errno : EACCES;
  (void)::unlinkat(above, name.c_str(), AT_REMOVEDIR);
  return error;
}

}  // namespace glim
