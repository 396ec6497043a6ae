// Who may read what Glim makes in a folder: its owner, and the folder's group where the folder is shared with that.
#pragma once

#include <sys/types.h>

#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim {

// Exactly these, whatever the umask is.
struct NewModes {
  mode_t file = 0600;
  mode_t folder = 0700;
};

// Of what is made in the open folder. One with the set-group-ID bit that its group may read is the group's: what is in
// it is the group's to read, and folders in it are the same.
Result<NewModes> ModesIn(int folder);

// Gives what was just made in `parent`, with 0600 or 0700, and is open as `file` or `folder`, the mode that it is to
// have; nothing where it has it.
Status ShareFile(int parent, int file);
Status ShareFolder(int parent, int folder);

}  // namespace glim
