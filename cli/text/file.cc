#include "cli/text/file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace glim::cli {
namespace {

Status Fault(const std::string& path, const std::string& why) {
  const std::string name = path == "-" ? "standard input" : path;
  return Status(StatusCode::kInvalidArgument, fmt::format("cannot read {}: {}", name, why)).WithReason("CANNOT_READ");
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fault(path, std::strerror(errno));
  std::string text;
  Status fault;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fault = Fault(path, std::strerror(errno));
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > bytes_max) {
      fault = Fault(path, fmt::format("more than {} bytes", bytes_max));
      break;
    }
  }
  if (!standard_input) close(fd);
  if (!fault.ok()) return fault;
  return text;
}

}  // namespace glim::cli
