#include "sdk/io/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sdk/io/io_error.h"
#include "sdk/io/retried.h"
#include "sdk/io/unique_fd.h"

namespace glim {
namespace {

constexpr std::size_t kFirstBytes = 16 << 10;

}  // namespace

int ReadAll(int fd, std::size_t bytes_max, std::string& text) {
  text.clear();
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno;
  // A guess: the file may grow, and a pipe or a file of /proc has no size.
  const std::size_t guess = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : 0;
  // One byte more than is due shows the end of the file, and one more than is allowed shows that there is too much.
  text.assign(std::min(std::max(guess + 1, kFirstBytes), bytes_max + 1), '\0');
  std::size_t done = 0;
  int error = 0;
  while (error == 0) {
    if (done == text.size()) text.resize(std::min(2 * done, bytes_max + 1));
    ssize_t got = 0;
    error = Retried([&] { return got = ::read(fd, text.data() + done, text.size() - done); });
    if (error != 0) break;
    if (got == 0) {
      text.resize(done);
      return 0;
    }
    done += static_cast<std::size_t>(got);
    if (done > bytes_max) error = EFBIG;
  }
  text.clear();
  return error;
}

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FileError("open", path, errno);
  std::string text;
  const int error = ReadAll(fd.get(), bytes_max, text);
  if (error == EFBIG) {
    return Status(StatusCode::kResourceExhausted, path + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (error != 0) return FileError("read", path, error);
  return text;
}

}  // namespace glim
