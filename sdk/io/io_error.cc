#include "sdk/io/io_error.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace glim {
namespace {

constexpr const char* kDiskFull = "DISK_FULL";

struct Meaning {
  StatusCode code;
  const char* fix;
  const char* reason = "";
};

Meaning MeaningOf(int error) {
  switch (error) {
    case ENOSPC: return {StatusCode::kResourceExhausted, "free space on this file system", kDiskFull};
    case EDQUOT:
      return {StatusCode::kResourceExhausted, "remove files of this owner, or ask for a larger quota", kDiskFull};
    case EFBIG:
      return {StatusCode::kResourceExhausted,
              "raise the limit on the size of files (ulimit -f), or write smaller files"};
    case EMFILE:
    case ENFILE: return {StatusCode::kResourceExhausted, "raise the limit on open files (ulimit -n)"};
    case EIO:
    case EILSEQ: return {StatusCode::kDataLoss, "look at the kernel's log: the device fails"};
    case ENOENT:
    case ENOTDIR:
    case ESTALE: return {StatusCode::kNotFound, "see whether somebody removed it"};
    case EACCES:
    case EPERM:
    case EROFS: return {StatusCode::kPermissionDenied, "give this process's user the right to it"};
    case EEXIST: return {StatusCode::kAlreadyExists, ""};
    default: return {StatusCode::kUnavailable, ""};
  }
}

}  // namespace

Status IoError(int error, const std::string& doing) {
  const Meaning meaning = MeaningOf(error);
  return Status(meaning.code, "cannot " + doing + ": " + std::generic_category().message(error))
      .WithReason(meaning.reason)
      .WithFix(meaning.fix);
}

Status FileError(std::string_view what, const std::string& path, int error) {
  return IoError(error, std::string(what) + " " + path);
}

bool IsDiskFull(const Status& status) { return status.reason() == kDiskFull; }

std::string PathIn(int folder, const std::string& name) {
  std::array<char, 4096> buffer;
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(folder)).c_str(), buffer.data(), buffer.size());
  std::string path = length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length)) : "(folder)";
  return name.empty() ? path : path + "/" + name;
}

Status ErrorIn(int folder, const std::string& name, const std::string& what, int error) {
  const std::string path = PathIn(folder, name);
  return FileError(what, path, error).WithField(path);
}

Status CheckFileName(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
      name.find('\0') == std::string::npos) {
    return Status::Ok();
  }
  return InvalidArgument("file", "\"" + name + "\" is not the name of a file in a folder",
                         "give a name without slashes");
}

}  // namespace glim
