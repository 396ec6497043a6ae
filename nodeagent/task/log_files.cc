#include "nodeagent/task/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;
constexpr int kStartDigits = 20;

std::string SegmentPath(const std::string& path, std::int64_t start) {
  char digits[kStartDigits + 1];
  std::snprintf(digits, sizeof digits, "%020lld", static_cast<long long>(start));
  return path + "." + digits;
}

struct Segment {
  std::string path;
  std::int64_t start = 0;
  std::int64_t size = 0;
  ino_t inode = 0;
};

// Older files in order, then the current one (if there is one).
std::vector<Segment> ListSegments(const std::string& path) {
  std::vector<Segment> segments;
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator it(whole.parent_path(), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() != prefix.size() + kStartDigits || name.compare(0, prefix.size(), prefix) != 0) continue;
    struct stat info {};
    if (::stat(it->path().c_str(), &info) != 0) continue;
    segments.push_back(
        {it->path().string(), std::strtoll(name.c_str() + prefix.size(), nullptr, 10), info.st_size, info.st_ino});
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.start < b.start; });
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    const std::int64_t start = segments.empty() ? 0 : segments.back().start + segments.back().size;
    segments.push_back({path, start, info.st_size, info.st_ino});
  }
  return segments;
}

// Whether two listings name the same files at the same places; sizes may grow meanwhile.
bool SameFiles(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Segment& x, const Segment& y) {
    return x.start == y.start && x.inode == y.inode && x.path == y.path;
  });
}

Result<LogData> ReadFrom(const std::vector<Segment>& segments, std::int64_t offset, std::size_t bytes_max) {
  LogData result;
  result.begin = segments.front().start;
  result.end = segments.back().start + segments.back().size;
  if (offset < 0) offset = std::max<std::int64_t>(0, result.end + offset);
  offset = std::max(offset, result.begin);
  result.offset = offset;
  for (const Segment& segment : segments) {
    if (result.data.size() >= bytes_max) break;
    const std::int64_t at = result.offset + static_cast<std::int64_t>(result.data.size());
    if (at < segment.start || at >= segment.start + segment.size) continue;
    UniqueFd fd(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return FileError("open", segment.path, errno);
    const std::size_t wanted =
        std::min(bytes_max - result.data.size(), static_cast<std::size_t>(segment.start + segment.size - at));
    const std::size_t before = result.data.size();
    result.data.resize(before + wanted);
    const ssize_t n = ::pread(fd.get(), result.data.data() + before, wanted, at - segment.start);
    if (n < 0) return FileError("read", segment.path, errno);
    result.data.resize(before + static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) < wanted) break;
  }
  return result;
}

}  // namespace

std::string LogPath(const std::string& folder, std::uint32_t rank) {
  return folder + "/rank-" + std::to_string(rank) + ".log";
}

Status LogWriter::Open() {
  const std::vector<Segment> segments = ListSegments(path_);
  start_ = 0;
  size_ = 0;
  if (!segments.empty()) {
    const bool current = segments.back().path == path_;
    start_ = current ? segments.back().start : segments.back().start + segments.back().size;
    size_ = current ? segments.back().size : 0;
  }
  fd_.Reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  return fd_ ? Status::Ok() : FileError("open", path_, errno);
}

bool LogWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      dropped_ += static_cast<std::int64_t>(bytes.size());
      return false;
    }
    size_ += n;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void LogWriter::Write(std::string_view bytes) {
  if (dropped_ > 0) {
    const std::int64_t dropped = std::exchange(dropped_, 0);
    const std::string note = "\n[glim: " + std::to_string(dropped) + " bytes of output were dropped: disk full]\n";
    if (!Append(note)) {
      dropped_ = dropped + static_cast<std::int64_t>(bytes.size());
      return;
    }
  }
  while (!bytes.empty()) {
    if (size_ >= limits_.file_bytes_max) Rotate();
    const std::int64_t room = std::max<std::int64_t>(1, limits_.file_bytes_max - size_);
    const std::string_view part = bytes.substr(0, static_cast<std::size_t>(room));
    bytes.remove_prefix(part.size());
    if (!Append(part)) {
      dropped_ += static_cast<std::int64_t>(bytes.size());
      return;
    }
  }
}

void LogWriter::Rotate() {
  if (::rename(path_.c_str(), SegmentPath(path_, start_).c_str()) != 0) return;  // then this file grows on
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    // No new file can be had: give the old one its name back and go on with it.
    (void)::rename(SegmentPath(path_, start_).c_str(), path_.c_str());
    return;
  }
  fd_.Reset(fd);
  start_ += size_;
  size_ = 0;
  std::vector<Segment> segments = ListSegments(path_);
  const std::size_t keep = std::max<std::size_t>(2, limits_.files_max);
  for (std::size_t i = 0; i + keep < segments.size(); ++i) ::unlink(segments[i].path.c_str());
}

Result<LogData> ReadLog(const std::string& path, std::int64_t offset, std::size_t bytes_max) {
  // A rotation in the middle would give the wrong bytes for an offset: then it is read again.
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::vector<Segment> before = ListSegments(path);
    // The first rotation has a moment at which one look finds neither the old name nor the new one; a second does.
    if (before.empty()) before = ListSegments(path);
    if (before.empty()) return Status(StatusCode::kNotFound, "there is no log " + path);
    Result<LogData> result = ReadFrom(before, offset, bytes_max);
    if (SameFiles(before, ListSegments(path))) return result;
  }
  return Status(StatusCode::kUnavailable, "the log rotates faster than it can be read: " + path);
}

Result<OpenLog> OpenLog::Open(const std::string& path) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::vector<Segment> before = ListSegments(path);
    if (before.empty()) before = ListSegments(path);  // as ReadLog does
    if (before.empty()) return Status(StatusCode::kNotFound, "there is no log " + path);
    OpenLog log;
    for (const Segment& segment : before) {
      UniqueFd fd(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (!fd) break;
      log.parts_.push_back({std::move(fd), segment.start, segment.size});
    }
    if (log.parts_.size() == before.size() && SameFiles(before, ListSegments(path))) return log;
  }
  return Status(StatusCode::kUnavailable, "the log rotates faster than it can be opened: " + path);
}

Result<std::size_t> OpenLog::Read(std::int64_t offset, std::span<char> into) const {
  std::size_t read = 0;
  for (const Part& part : parts_) {
    while (read < into.size()) {
      const std::int64_t at = offset + static_cast<std::int64_t>(read);
      if (at < part.start || at >= part.start + part.size) break;
      const std::size_t wanted = std::min(into.size() - read, static_cast<std::size_t>(part.start + part.size - at));
      const ssize_t n = ::pread(part.fd.get(), into.data() + read, wanted, at - part.start);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError("read", "a log", errno);
      if (n == 0) return read;  // somebody made the file shorter
      read += static_cast<std::size_t>(n);
    }
  }
  return read;
}

int PruneLogs(const std::string& root, std::int64_t bytes_max, std::size_t folders_max,
              const std::function<bool(const std::string& name)>& keep) {
  struct Folder {
    fs::path path;
    fs::file_time_type newest;
    std::int64_t bytes = 0;
  };
  std::vector<Folder> folders;
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    Folder folder{it->path(), fs::last_write_time(it->path(), ignored), 0};
    for (fs::directory_iterator file(it->path(), ignored), last; !ignored && file != last; file.increment(ignored)) {
      std::error_code vanished;
      const auto size = fs::file_size(file->path(), vanished);
      if (!vanished) folder.bytes += static_cast<std::int64_t>(size);
      const auto written = fs::last_write_time(file->path(), vanished);
      if (!vanished) folder.newest = std::max(folder.newest, written);
    }
    bytes += folder.bytes;
    folders.push_back(std::move(folder));
  }
  std::sort(folders.begin(), folders.end(), [](const Folder& a, const Folder& b) {
    return a.newest != b.newest ? a.newest < b.newest : a.path < b.path;
  });
  std::size_t left = folders.size();
  int removed = 0;
  for (const Folder& folder : folders) {
    if (bytes <= bytes_max && left <= folders_max) break;
    if (keep(folder.path.filename().string()) || !RemoveFolder(folder.path.string()).ok()) continue;
    bytes -= folder.bytes;
    --left;
    ++removed;
  }
  return removed;
}

}  // namespace glim::nodeagent
