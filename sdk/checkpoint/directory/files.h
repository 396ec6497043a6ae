// Files and folders beneath an open folder: the few calls that the directory is made of. Names are names of files in
// one folder (anything else is INVALID_ARGUMENT), symbolic links are not followed, calls are made again after a signal,
// and errors (io_error.h) name the whole path. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/unique_fd.h"

namespace glim::checkpoint {

// NOT_FOUND; FAILED_PRECONDITION when the name is a symbolic link or no folder.
Result<UniqueFd> OpenFolder(int parent, const std::string& name);
// The same folder, made if it is not there; then `parent` is flushed.
Result<UniqueFd> MakeFolder(int parent, const std::string& name);
// The folder's own name is durable, and those in it. File systems that have no such thing are believed.
Status Flush(int folder);

struct Entry {
  std::string name;
  bool is_folder = false;  // and no link to one
};
// All but "." and "..", in no order.
Result<std::vector<Entry>> List(int folder);

// Whether `name` is there and a plain file; 0 and up: its size, -1: it is not.
Result<std::int64_t> SizeOfFile(int folder, const std::string& name);
// NOT_FOUND; DATA_LOSS when it is longer than `max`, or no plain file (a pipe is not waited for).
Result<std::string> ReadFile(int folder, const std::string& name, std::size_t max);

// `name` holds `text`, durably, or is as it was: never part of it, whenever the machine stops.
Status Replace(int folder, const std::string& name, const std::string& text);
// The same if `name` is not there; of all who try at once, one is told true.
Result<bool> CreateExclusively(int folder, const std::string& name, const std::string& text);
// `name` becomes a symbolic link to `target`, in place of a file or link of that name. Not durable.
Status ReplaceLink(int folder, const std::string& name, const std::string& target);
// Whether `name` is what one of the three above leaves behind when it is killed.
bool IsTemporary(const std::string& name);

// What is not there is removed already.
Status RemoveFile(int folder, const std::string& name);
// With every file in it; folders in it are left alone, and it with them.
Status RemoveFolder(int parent, const std::string& name);

}  // namespace glim::checkpoint
