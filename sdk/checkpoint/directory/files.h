// Files and folders beneath an open folder: the few calls that the directory is made of, beside those that write whole
// files (sdk/io/write_file.h). Names are names of files in one folder (anything else is INVALID_ARGUMENT), symbolic
// links are not followed, calls are made again after a signal, and errors (sdk/io/io_error.h) name the whole path. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {

// NOT_FOUND; FAILED_PRECONDITION when the name is a symbolic link or no folder.
Result<UniqueFd> OpenFolder(int parent, const std::string& name);
// The same folder, made if it is not there; then `parent` is flushed.
Result<UniqueFd> MakeFolder(int parent, const std::string& name);

// Whether `name` is there and a plain file; 0 and up: its size, -1: it is not.
Result<std::int64_t> SizeOfFile(int folder, const std::string& name);
// NOT_FOUND; DATA_LOSS when it is longer than `max`, or no plain file (a pipe is not waited for).
Result<std::string> ReadFile(int folder, const std::string& name, std::size_t max);

// What is not there is removed already.
Status RemoveFile(int folder, const std::string& name);
// With every file in it; folders in it are left alone, and it with them.
Status RemoveFolder(int parent, const std::string& name);

}  // namespace glim::checkpoint
