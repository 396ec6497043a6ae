// Small files, whole: read with a bound, written so that a reader sees the old or the new content, never a mixture.
// Stateless functions, safe from any thread; errors name the path and the system's reason.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// "cannot WHAT PATH: REASON" of `error` (an errno value).
Status FileError(std::string_view what, const std::string& path, int error);

enum class Durability {
  kProcess,  // survives the writer's death: the page cache has it
  kMachine,  // survives the machine's: file and folder are synced
};

// Writes PATH.tmp (mode 0600) and renames it to PATH.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, Durability durability);

// NOT_FOUND when there is none; RESOURCE_EXHAUSTED when it is longer than `bytes_max`.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

// Makes one folder with mode 0700; one that exists is fine.
Status MakeFolder(const std::string& path);
// Like `mkdir -p`, mode 0700 for what is new.
Status MakeFolders(const std::string& path);
// MakeFolders, and then insists that it is ours and closed to everybody else (0700).
Status MakePrivateFolder(const std::string& path);
// Removes a folder with all that is in it; follows no link.
Status RemoveFolder(const std::string& path);

}  // namespace glim::nodeagent
