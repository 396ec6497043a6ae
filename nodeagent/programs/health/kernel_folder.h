// Small files of the kernel's (sysfs, procfs) in a folder that is kept open: a look opens, reads and closes a file, and
// walks no path. Movable; any thread, one at a time. What is not there, or cannot be read, is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {

class KernelFolder {
 public:
  KernelFolder() = default;
  explicit KernelFolder(const std::string& path);
  // `name` in this one, links followed.
  KernelFolder Folder(const std::string& name) const;

  explicit operator bool() const { return static_cast<bool>(fd_); }
  // The whole file, at most 1 MiB, without the line's end.
  std::optional<std::string> Text(const std::string& name) const;
  std::optional<std::int64_t> Number(const std::string& name) const;
  // What it holds, sorted, without names that begin with a dot.
  std::vector<std::string> Names() const;

 private:
  explicit KernelFolder(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace glim::nodeagent::health
