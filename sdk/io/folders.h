// Folders: made with their parents, insisted upon, listed, removed. Stateless functions, any thread; errors name
// the path and the system's reason (io_error.h).
#pragma once

#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim {

// Makes one folder with mode 0700; one that exists is fine.
Status MakeFolder(const std::string& path);
// Like `mkdir -p`, mode 0700 for what is new.
Status MakeFolders(const std::string& path);
// MakeFolders, and then insists that the folder is ours and closed to everybody else (0700).
Status MakePrivateFolder(const std::string& path);
// Removes a folder with all that is in it; follows no link.
Status RemoveFolder(const std::string& path);

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // and no link to one
};
// All but "." and ".." of an open folder, in no order. The folder is opened anew, which makes a network file system
// look again; where it stands open stays as it was.
Result<std::vector<FolderEntry>> ListFolder(int folder);

}  // namespace glim
