// Room on a disk that is kept for what must be written when the disk is full: a file whose blocks are taken beforehand.
//
// Like the files that it stands in for, it belongs to one writer. Not thread-safe. Errors as in write_file.h;
// IsDiskFull (io_error.h) tells a full disk from others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/status.h"
#include "sdk/io/write_file.h"

namespace glim {

class SpareFile {
 public:
  // `path` lies in the file system of what is to be written. `bytes`: the longest content that it is good for.
  SpareFile(std::string path, std::int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  // Takes the room, or finds it taken by an earlier life. Nothing happens when it is held.
  Status Take();
  bool held() const { return held_; }
  // WriteFileAtomically as PrivateFile. Where that finds the disk full, the spare itself gets the content and takes the
  // place of `target`: not even another process that eats every free block can come between. The spare is gone then,
  // and what `target` had is free again: the caller takes it anew, at once or when there is room.
  Status Write(const std::string& target, std::string_view content, Durability durability);
  // Gives the room back.
  void Drop();

 private:
  Status Become(const std::string& target, std::string_view content, Durability durability);

  std::string path_;
  std::int64_t bytes_;
  bool held_ = false;
};

}  // namespace glim
