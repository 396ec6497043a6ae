#include "cli/text/file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::cli {
namespace {

Status Fault(const std::string& path, const std::string& why) {
  const std::string name = path == "-" ? "standard input" : path;
  return Status(StatusCode::kInvalidArgument, fmt::format("cannot read {}: {}", name, why)).WithReason("CANNOT_READ");
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  UniqueFd file;
  if (path != "-") {
    file.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return Fault(path, std::strerror(errno));
  }
  std::string text;
  const int error = ReadAll(path == "-" ? STDIN_FILENO : file.get(), bytes_max, text);
  if (error == EFBIG) return Fault(path, fmt::format("more than {} bytes", bytes_max));
  if (error != 0) return Fault(path, std::strerror(error));
  return text;
}

}  // namespace glim::cli
