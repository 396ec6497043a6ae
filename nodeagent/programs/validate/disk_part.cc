#include "nodeagent/programs/validate/disk_part.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "nodeagent/programs/validate/pattern.h"
#include "nodeagent/programs/validate/stopwatch.h"
#include "nodeagent/validate/judge.h"
#include "sdk/io/io_error.h"
#include "sdk/io/retried.h"
#include "sdk/io/unique_fd.h"

namespace glim::validate {
namespace {

constexpr std::size_t kChunk = 4 << 20;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kQuickFileBytes = 256 << 20;
constexpr std::size_t kFullFileBytes = std::size_t{4} << 30;
constexpr int kQuickSyncs = 32;
constexpr int kFullSyncs = 256;
constexpr double kQuickDiskSeconds = 5;  // of writing, of reading, and of fsyncs: a slow disk is known by then
constexpr double kFullDiskSeconds = 60;
constexpr std::size_t kChunkWords = kChunk / sizeof(std::uint64_t);

struct Buffer {
  Buffer() : start(static_cast<std::uint64_t*>(::aligned_alloc(kPage, kChunk))) {}
  ~Buffer() { ::free(start); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::span<std::uint64_t> words() const { return {start, kChunkWords}; }
  std::uint64_t* start;
};

// A file without a name. Where the file system knows no such thing, its name is removed at once.
Result<UniqueFd> NamelessFile(const std::string& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL && errno != ENOSYS) {
    return FileError("make a file in", folder, errno);
  }
  std::string name = folder + "/.glim-validate-XXXXXX";
  file.Reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return FileError("make a file in", folder, errno);
  ::unlink(name.c_str());
  return file;
}

// The rest of the file system does not matter: what cannot be written past the page cache is written through it.
bool GoDirect(int file) {
  const int flags = ::fcntl(file, F_GETFL);
  return flags >= 0 && ::fcntl(file, F_SETFL, flags | O_DIRECT) == 0;
}

int WriteWhole(int file, const char* from, std::size_t bytes, std::size_t at) {
  for (std::size_t done = 0; done < bytes;) {
    ssize_t wrote = 0;
    const int error = Retried([&] {
      wrote = ::pwrite(file, from + done, bytes - done, static_cast<off_t>(at + done));
      return static_cast<int>(wrote < 0 ? -1 : 0);
    });
    if (error != 0) return error;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

int ReadWhole(int file, char* to, std::size_t bytes, std::size_t at) {
  for (std::size_t done = 0; done < bytes;) {
    ssize_t got = 0;
    const int error = Retried([&] {
      got = ::pread(file, to + done, bytes - done, static_cast<off_t>(at + done));
      return static_cast<int>(got < 0 ? -1 : 0);
    });
    if (error != 0) return error;
    if (got == 0) return EIO;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

class FolderTest {
 public:
  FolderTest(const std::string& folder, UniqueFd file, bool full)
      : folder_(folder),
        file_(std::move(file)),
        bytes_max_(full ? kFullFileBytes : kQuickFileBytes),
        seconds_max_(full ? kFullDiskSeconds : kQuickDiskSeconds),
        syncs_max_(full ? kFullSyncs : kQuickSyncs) {
    if (!GoDirect(file_.get())) note_ = "through the page cache: this file system has no other way";
  }

  void Run(std::vector<Reading>& readings) {
    readings.push_back(Write());
    if (written_ > 0) readings.push_back(Read());
    readings.push_back(Syncs());
  }

 private:
  Reading Start(const char* what) const {
    return {.part = "disk", .what = what, .device = folder_, .wrong = {}, .note = note_};
  }

  Reading Write() {
    Reading reading = Start("write");
    const Stopwatch watch;
    double made = 0;  // seconds in which the pattern was made, which are not the disk's
    while (written_ < bytes_max_ && watch.Seconds() < seconds_max_) {
      const Stopwatch making;
      Fill(buffer_.words(), Pattern::kRandom, written_ / sizeof(std::uint64_t));
      made += making.Seconds();
      const int error = WriteWhole(file_.get(), reinterpret_cast<const char*>(buffer_.start), kChunk, written_);
      if (error != 0) {
        if (error != ENOSPC || written_ == 0) reading.wrong = std::string("cannot write: ") + std::strerror(error);
        break;  // a disk that has no more room was written as far as it had some
      }
      written_ += kChunk;
    }
    if (::fdatasync(file_.get()) != 0) reading.wrong = std::string("cannot sync: ") + std::strerror(errno);
    reading.value = static_cast<double>(written_) / 1e6 / (watch.Seconds() - made);
    return reading;
  }

  Reading Read() {
    Reading reading = Start("read");
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
    const Stopwatch watch;
    double compared = 0;
    std::size_t at = 0;
    for (; at < written_ && watch.Seconds() < seconds_max_; at += kChunk) {
      const int error = ReadWhole(file_.get(), reinterpret_cast<char*>(buffer_.start), kChunk, at);
      if (error != 0) {
        reading.wrong = "cannot read at byte " + std::to_string(at) + ": " + std::strerror(error);
        return reading;
      }
      const Stopwatch comparing;
      const auto wrong = FirstWrong(buffer_.words(), Pattern::kRandom, at / sizeof(std::uint64_t));
      compared += comparing.Seconds();
      if (wrong && reading.wrong.empty()) {
        reading.wrong =
            "what is read is not what was written, in the 4 MiB at byte " + std::to_string(at) + ": " + *wrong;
      }
    }
    reading.value = static_cast<double>(at) / 1e6 / (watch.Seconds() - compared);
    return reading;
  }

  Reading Syncs() {
    Reading reading = Start("fsync");
    std::vector<double> ms;
    const Stopwatch all;
    for (int i = 0; i < syncs_max_ && all.Seconds() < seconds_max_; ++i) {
      const Stopwatch watch;
      const std::size_t at = static_cast<std::size_t>(i) * kPage;
      const int error = WriteWhole(file_.get(), reinterpret_cast<const char*>(buffer_.start), kPage, at);
      if (error != 0 || ::fdatasync(file_.get()) != 0) {
        reading.wrong = std::string("cannot sync 4 KiB: ") + std::strerror(error != 0 ? error : errno);
        return reading;
      }
      ms.push_back(watch.Seconds() * 1e3);
    }
    std::sort(ms.begin(), ms.end());
    reading.value = ms[ms.size() / 2];
    reading.note += (reading.note.empty() ? "" : "; ") + ("the slowest of " + std::to_string(ms.size()) + ": ") +
                    Shown(ms.back()) + " ms";
    return reading;
  }

  const std::string folder_;
  const UniqueFd file_;
  const std::size_t bytes_max_;
  const double seconds_max_;
  const int syncs_max_;
  std::string note_;
  Buffer buffer_;
  std::size_t written_ = 0;
};

}  // namespace

Readings MeasureDisk(const Options& options) {
  std::vector<Reading> readings;
  for (const std::string& folder : options.folders) {
    Result<UniqueFd> file = NamelessFile(folder);
    if (!file.ok()) return file.status();
    FolderTest(folder, std::move(*file), options.full).Run(readings);
  }
  return readings;
}

}  // namespace glim::validate
