// The database's place on the disk: its directory, its file with safe permissions, and the lock that keeps a second
// scheduler out.
#pragma once

#include <string>
#include <utility>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::store {

// Holds `<path>.lock` by flock until it is destroyed or the process ends. The lock file stays: removing it would let
// two openers lock two files of one name.
class SqliteFile {
 public:
  // Creates missing directories (0700) and the file (0600; an existing one loses its group's and others' rights).
  // Fails with kFailedPrecondition, reason STORE_LOCKED, while another scheduler has it.
  static Result<SqliteFile> Claim(const std::string& path);

  // Absolute, without symbolic links: whatever name it was given, one database has one lock.
  const std::string& path() const { return path_; }

 private:
  SqliteFile(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;
};

}  // namespace glim::store
