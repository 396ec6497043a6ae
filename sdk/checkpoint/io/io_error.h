// What a failed system call means to whoever saves or loads.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::checkpoint {

// "cannot DOING: errno's words", with a fix where there is one. RESOURCE_EXHAUSTED: the disk, a quota or a limit is
// full. DATA_LOSS: the device fails. NOT_FOUND: the folder or file is gone. PERMISSION_DENIED, ALREADY_EXISTS; else
// UNAVAILABLE.
Status IoError(int error, const std::string& doing);

// INVALID_ARGUMENT for what is not the name of a file in one folder: empty, ".", "..", or with a slash or a zero byte.
Status CheckFileName(const std::string& name);

}  // namespace glim::checkpoint
