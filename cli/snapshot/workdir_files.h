// What of a workdir goes into a snapshot of it: files, folders and links, less what .gitignore files (each level's, and
// those above the workdir up to its git work tree's) and the workdir's .glimignore leave out, and less every `.git`.
//
// .glimignore comes before the others: its "!name" takes back what a .gitignore leaves out. A .gitignore does not leave
// out what git tracks. Sockets, pipes and devices are no code, and left out. git's own lists outside of the tree
// (.git/info/exclude, core.excludesFile) play no part: the same tree gives the same snapshot to everybody.
// Reads the file system; follows no link.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/snapshot/archive.h"

namespace glim::cli {

// The folder with `.git` that `folder` (absolute) is, or lies in; empty: none.
std::string WorkTreeOf(const std::string& folder);

// Sorted by path. `tracked`: what git tracks below `folder`, as paths relative to it. INVALID_ARGUMENT, field `code`:
// it is too much, has a link that leads out of it, or something that cannot be read; the message names what, and how to
// mend it.
Result<std::vector<snapshot::Entry>> ListWorkdir(const std::string& folder, const std::set<std::string>& tracked);

}  // namespace glim::cli
