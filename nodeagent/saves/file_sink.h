// Writes one new file after the other from pieces in order: large ones past the page cache, which costs half the
// processor time and leaves the memory of the node to others; small ones, and all where the file system has no
// O_DIRECT, through it. Owns a few blocks of memory and what submits them. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nodeagent/saves/file_syncer.h"
#include "sdk/base/status.h"
#include "sdk/checkpoint/io/channel.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

class FileSink {
 public:
  FileSink() = default;
  // Waits for what is in flight.
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  // `fd`: an empty file, open for writing; `name` for messages. Makes room for `bytes`.
  Status Begin(UniqueFd fd, std::string name, std::int64_t bytes);
  // Copied before it returns. No more than `bytes` in all.
  Status Write(std::span<const std::byte> data);
  // The file is whole, and will be synced while the next one is written. A file that is not ended is dropped as it is.
  Status End();
  // All files that were ended are on the disk, at their exact lengths.
  Status Finish() { return syncer_.Finish(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Block {
    std::unique_ptr<std::byte[], Free> memory;
    checkpoint::IoRequest rest;  // of the request in flight
    bool direct = false;         // it was submitted as one past the page cache
  };

  Status MakeRoom();
  Status NextBlock();
  void SubmitBlock();
  Status AwaitOne();
  void Drain();
  bool SetDirect(bool on);
  Status WriteSmall(std::span<const std::byte> data);

  std::unique_ptr<checkpoint::Channel> channel_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> free_;
  UniqueFd fd_;
  std::string name_;
  std::int64_t bytes_ = 0;
  std::int64_t written_ = 0;
  std::size_t current_ = 0;     // the block that is being filled
  std::size_t filled_ = 0;      // of it
  std::int64_t submitted_ = 0;  // bytes of the file
  std::size_t in_flight_ = 0;
  bool small_ = false;
  bool direct_ = false;
  bool attached_ = false;
  FileSyncer syncer_;
};

}  // namespace glim::nodeagent
