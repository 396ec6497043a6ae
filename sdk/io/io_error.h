// What a failed system call on a file means to whoever asked for it: one Status for each errno, with a fix where there
// is one. Stateless functions, any thread.
//
// RESOURCE_EXHAUSTED: the disk, a quota or a limit is full. DATA_LOSS: the device fails. NOT_FOUND: the folder or file
// is gone. PERMISSION_DENIED, ALREADY_EXISTS; else UNAVAILABLE.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/status.h"

namespace glim {

// "cannot DOING: errno's words".
Status IoError(int error, const std::string& doing);
// "cannot WHAT PATH: errno's words".
Status FileError(std::string_view what, const std::string& path, int error);
// The same for `name` in an open folder (empty: the folder itself), with the path as the field.
Status ErrorIn(int folder, const std::string& name, const std::string& what, int error);
// Whether a Status of these says that the disk or a quota has no room left, rather than another limit.
bool IsDiskFull(const Status& status);
// Where an open folder is now, for messages, and `name` in it.
std::string PathIn(int folder, const std::string& name);

// INVALID_ARGUMENT for what is not the name of a file in one folder: empty, ".", "..", or with a slash or a zero byte.
Status CheckFileName(const std::string& name);

}  // namespace glim
