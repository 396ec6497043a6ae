// Writes the files of a save that is coming in, on a thread of its own, so that the network does not wait for the disk.
//
// The caller hands over what came, in order; at most a few pieces wait. Each file's CRC-32C is checked, and each file
// is synced while the next one is written. What is written lies in a private folder that nobody else knows yet. The
// first error stays: status() tells it, later calls do nothing, and an error of ours is told from one of the source.
// One caller's thread.
#pragma once

#include <grpcpp/support/slice.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nodeagent/saves/file_sink.h"
#include "nodeagent/saves/save_tree.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

class SaveWriter {
 public:
  // Writes the save as `name` in the folder `folder`, which stays open and outlives the writer.
  SaveWriter(int folder, std::string name, std::optional<TaskUser> owner);
  // Drops what is still to be written.
  ~SaveWriter();
  SaveWriter(const SaveWriter&) = delete;
  SaveWriter& operator=(const SaveWriter&) = delete;

  // `path` as in FileBegin. What another source has given already is taken and not written again.
  void Begin(std::string path, std::int64_t bytes, std::uint32_t mode);
  void Data(std::vector<grpc::Slice> data, std::size_t bytes);
  void End(std::uint32_t crc32c);
  // All of one source's files have been told. Waits until everything is on the disk, and compares the totals.
  Status Finish(std::int64_t files, std::int64_t bytes);

  // Waits for nothing.
  Status status() const;
  // Whether that is about this node (its disk is full) and not about what came.
  bool own_error() const;
  // What has been written.
  bool Has(const std::string& path) const { return written_.contains(path); }

 private:
  struct File {
    File() {}  // clang 14 takes the one that it would make for missing until the class is whole
    std::string path;
    bool written = false;  // else it is only checked
    std::int64_t bytes = 0;
    std::int64_t offset = 0;
    std::uint32_t sum = 0;
  };
  using Work = std::function<Status()>;

  void Push(Work work, std::size_t bytes);
  void Run();
  Status BeginFile(const std::string& path, std::int64_t bytes, std::uint32_t mode);
  Status MakeFolder(const std::string& path, std::uint32_t mode);
  Status WriteData(const std::vector<grpc::Slice>& data);
  Status EndFile(std::uint32_t crc32c);
  Status OwnError(Status status);
  std::string Placed(const std::string& path) const { return path.empty() ? name_ : name_ + "/" + path; }

  const int folder_;
  const std::string name_;
  const std::optional<TaskUser> owner_;

  // Of the thread; Finish reads them when the thread has nothing to do. The sink goes before the file.
  std::optional<File> file_;
  FileSink sink_;
  std::set<std::string> written_;
  std::int64_t files_ = 0;  // of this source
  std::int64_t bytes_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Work, std::size_t>> queue_;
  std::size_t queued_bytes_ = 0;
  bool busy_ = false;
  bool stop_ = false;
  bool own_error_ = false;
  Status status_;
  std::thread thread_;
};

}  // namespace glim::nodeagent
