// Which symbolic links an archive of code may hold. Pure.
#pragma once

#include <string_view>

namespace glim::snapshot {

// Whether the link at `path` (relative to the archive's folder) with this `target` stays in the folder, whatever the
// other links that keep this rule are. So a target is relative, its ".." are all at its beginning, and they are no more
// than the folders that the link lies in: those are real folders, and what follows them never goes up again.
bool LinkStaysInside(std::string_view path, std::string_view target);

}  // namespace glim::snapshot
