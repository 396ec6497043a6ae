// The folder of a cluster's snapshots, CHECKPOINT_ROOT/snapshots, as a user of the cluster sees it. Several users and
// hosts may write to it at once: an archive appears under its name as a whole, or not at all.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/status.h"

namespace glim::cli {

// Whether this host sees the cluster's root: `marker` is a file in it.
Status CheckSnapshotRoot(const std::string& root, const std::string& marker);

// Writes `bytes`, whose hash is `sha256`, synced; mode 0640, to SnapshotPath(root, the effective uid, sha256). The
// folder `snapshots` is made if it is not there and the root is the caller's: everybody may write there, and nobody
// list it (1733). The user's folder in it is made, and the user's alone (0700; 2710 where `snapshots` is setgid: agents
// that are not root's are in its group). Folders that some other user owns are refused (sdk/io/trusted_folder.h). What
// is there already with the same bytes is used; what is there and corrupt is replaced. Main thread (the umask).
Status StoreSnapshot(const std::string& root, std::string_view sha256, std::string_view bytes);

}  // namespace glim::cli
