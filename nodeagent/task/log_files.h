// A rank's log: bytes counted from the first ever written, kept in a bounded number of files.
//
//   rank-3.log                      being written to
//   rank-3.log.00000000000016777216 an older one; the number is the offset of its first byte
// The newest file begins where the newest older one ends, so the offsets survive every restart without a record of
// their own. The writer (the shim) keeps at least one older file once it has rotated.
// LogWriter: one owner, one thread. ReadLog: stateless, may run beside a writer in another process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodeagent/task/task_files.h"
#include "sdk/base/line_pages.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

std::string LogPath(const std::string& folder, std::uint32_t rank);

class LogWriter {
 public:
  LogWriter(std::string path, LogLimits limits) : path_(std::move(path)), limits_(limits) {}

  Status Open();
  // Never fails and never waits for room: what a full disk refuses is counted, dropped, and told in the log as soon
  // as there is room again, because a job must not die of its log.
  void Write(std::string_view bytes);

 private:
  void Rotate();
  bool Append(std::string_view bytes);

  const std::string path_;
  const LogLimits limits_;
  UniqueFd fd_;
  std::int64_t start_ = 0;  // offset of the current file's first byte
  std::int64_t size_ = 0;   // of the current file
  std::int64_t dropped_ = 0;
};

struct LogData {
  std::string data;
  std::int64_t offset = 0;  // of data's first byte
  std::int64_t begin = 0;   // of what is left of the log
  std::int64_t end = 0;     // of the whole log when it was looked at
};

// At most `bytes_max` from `offset` on; from the oldest byte kept if rotation has dropped that one. A negative offset
// counts from the end. NOT_FOUND without a log.
Result<LogData> ReadLog(const std::string& path, std::int64_t offset, std::size_t bytes_max);

// A rank's log held open: what was kept when it was opened can be read until it goes, whatever rotation does meanwhile.
class OpenLog final : public LineSource {
 public:
  // NOT_FOUND without a log.
  static Result<OpenLog> Open(const std::string& path);

  std::int64_t begin() const override { return parts_.front().start; }  // of the oldest byte that is kept
  std::int64_t end() const override { return parts_.back().start + parts_.back().size; }
  Result<std::size_t> Read(std::int64_t offset, std::span<char> into) const override;

 private:
  struct Part {
    UniqueFd fd;
    std::int64_t start = 0;
    std::int64_t size = 0;
  };
  std::vector<Part> parts_;  // not empty, in order, end to end
};

// Removes the folders that hold the oldest logs until at most `bytes_max` and `folders_max` are left under `root`.
// Folders for which `keep` says so are left alone. Returns how many went.
int PruneLogs(const std::string& root, std::int64_t bytes_max, std::size_t folders_max,
              const std::function<bool(const std::string& name)>& keep);

}  // namespace glim::nodeagent
