// Looks at files, and makes them, as another user of the node.
#pragma once

#include <sys/types.h>

#include <vector>

namespace glim::nodeagent {

// As the kernel sees this thread's file operations, while this lives; a network file system is told that user, too.
// Root can, and aborts if the kernel refuses; others stay who they are. Not nested.
class FileUser {
 public:
  enum class May {
    kWhatTheUserMay,
    kPassEverywhere,  // permissions of folders and files do not stop it, as they do not stop root
  };

  // `groups`: the user's, beside `gid`.
  FileUser(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, May may = May::kWhatTheUserMay);
  ~FileUser();
  FileUser(const FileUser&) = delete;
  FileUser& operator=(const FileUser&) = delete;

 private:
  const std::vector<gid_t> own_groups_;
};

}  // namespace glim::nodeagent
