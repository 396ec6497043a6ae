#include "sdk/checkpoint/io/io_error.h"

#include <cerrno>
#include <system_error>

namespace glim::checkpoint {
namespace {

struct Meaning {
  StatusCode code;
  const char* fix;
};

Meaning MeaningOf(int error) {
  switch (error) {
    case ENOSPC: return {StatusCode::kResourceExhausted, "free space on this file system, or keep fewer checkpoints"};
    case EDQUOT: return {StatusCode::kResourceExhausted, "remove files of this owner, or ask for a larger quota"};
    case EFBIG:
      return {StatusCode::kResourceExhausted, "raise the limit on the size of files (ulimit -f), or write more shards"};
    case EMFILE:
    case ENFILE: return {StatusCode::kResourceExhausted, "raise the limit on open files (ulimit -n)"};
    case EIO:
    case EILSEQ: return {StatusCode::kDataLoss, "look at the kernel's log: the device fails"};
    case ENOENT:
    case ENOTDIR:
    case ESTALE: return {StatusCode::kNotFound, "see whether somebody removed the folder"};
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
  return Status(meaning.code, "cannot " + doing + ": " + std::generic_category().message(error)).WithFix(meaning.fix);
}

Status CheckFileName(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
      name.find('\0') == std::string::npos) {
    return Status::Ok();
  }
  return InvalidArgument("file", "\"" + name + "\" is not the name of a file in a folder",
                         "give a name without slashes");
}

}  // namespace glim::checkpoint
