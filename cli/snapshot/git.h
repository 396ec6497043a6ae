// What git says of a workdir. Runs `git` (no shell) where there is one; otherwise, and for a folder in no work tree,
// everything is empty, which is no fault. Blocks until git has ended, at most for as long as git takes. Of what the
// folder's own configuration names (filters, hooks, monitors, transports) nothing is run.
#pragma once

#include <set>
#include <string>

namespace glim::cli {

struct GitState {
  std::string revision;           // of HEAD, hex; "-dirty" behind it if tracked files of the folder differ from it,
                                  // or nobody can tell; a submodule's differs if its commit does
  std::set<std::string> tracked;  // paths relative to the folder
};

GitState ReadGit(const std::string& folder);

}  // namespace glim::cli
