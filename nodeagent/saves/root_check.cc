#include "nodeagent/saves/root_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/base/snapshot_name.h"
#include "sdk/io/io_error.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/read_file.h"
#include "sdk/io/trusted_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr mode_t kJobsMode = 0711;
constexpr mode_t kSnapshotsMode = 01733;  // users lay archives there, and whoever knows one's hash has it

bool IsMarkerName(const std::string& name) {
  return !name.empty() && name.size() <= kMarkerNameBytesMax && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool IsMarker(const std::string& text) {
  return text.size() == kMarkerDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> ReadMarker(int root, const std::string& path, const std::string& name) {
  UniqueFd fd(::openat(root, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return FileError("open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kFailedPrecondition, path + " is no file");
  std::string text;
  const int error = ReadAll(fd.get(), kMarkerDigits + 1, text);
  if (error != 0 && error != EFBIG) return FileError("read", path, error);
  if (text.ends_with('\n')) text.pop_back();
  if (!IsMarker(text)) {
    return Status(StatusCode::kFailedPrecondition,
                  path + " does not hold 32 hexadecimal digits: remove it, and the agents make a new one");
  }
  return text;
}

// Of all agents that make it at once, one does.
Status MakeMarker(int root, const std::string& name) {
  // Everybody may read it: the command line compares it with what it sees itself.
  return CreateFileIn(root, name, RandomHex(kMarkerDigits / 2) + "\n", {Durability::kMachine, 0644}).status();
}

}  // namespace

std::string ToRecord(const RootAnswer& answer) { return answer.marker + "\n" + answer.error; }

RootAnswer ParseRootRecord(const std::string& record) {
  const std::size_t end = record.find('\n');
  if (end == std::string::npos) return {"", "nobody could look at the checkpoint root"};
  return {record.substr(0, end), record.substr(end + 1)};
}

RootAnswer CheckRoot(const std::string& root, const std::string& marker) {
  if (root.empty() || root[0] != '/') return {"", "the checkpoint root \"" + root + "\" is no absolute path"};
  if (!IsMarkerName(marker)) return {"", "checkpoint_marker \"" + marker + "\" is no plain file name"};
  const UniqueFd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {"", FileError("open", root, errno).message()};
  const std::string path = root + "/" + marker;
  Result<std::string> text = ReadMarker(folder.get(), path, marker);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    if (Status status = MakeMarker(folder.get(), marker); !status.ok()) return {"", status.message()};
    text = ReadMarker(folder.get(), path, marker);
  }
  if (!text.ok()) return {"", text.status().message()};
  if (::geteuid() == 0) {
    // Before a user does; what is wrong with one that is there says who uses it.
    (void)MakeTrusted(folder.get(), "jobs", kJobsMode);
    (void)MakeTrusted(folder.get(), std::string(kSnapshotFolder), kSnapshotsMode);
  }
  return {*text, ""};
}

}  // namespace glim::nodeagent
