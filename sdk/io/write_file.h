// Files written whole: a reader sees the old or the new content, never a mixture, whenever the writer stops.
//
// The content is written beside, under a temporary name, and then given its name by rename() or link(). Stateless
// functions, any thread, any number of processes. Errors name the path and the system's reason (io_error.h); the
// temporary file is gone then, and what had the name is as it was.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim {

enum class Durability {
  kProcess,  // survives the writer's death: the page cache has it
  kMachine,  // survives the machine's: file and folder are flushed; where the folder is not ours to read, and open with
             // O_PATH, all of its file system
};

struct WriteOptions {
  Durability durability = Durability::kMachine;
  std::optional<mode_t> mode = {};  // exactly this one; nothing: 0666 less the umask
  // Nobody else writes this name. The temporary file is NAME.tmp, which the next write takes over when this process is
  // killed; else it is a name like no other (IsTemporary), which somebody has to remove.
  bool sole_writer = false;
};

// For the state of a program that keeps it to itself: mode 0600, one writer.
inline WriteOptions PrivateFile(Durability durability) { return {durability, 0600, true}; }

// `path` holds `bytes`.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, const WriteOptions& options);
inline Status WriteFileAtomically(const std::string& path, std::string_view bytes, Durability durability) {
  return WriteFileAtomically(path, bytes, PrivateFile(durability));
}

// The same for the plain name `name` in an open folder.
Status WriteFileIn(int folder, const std::string& name, std::string_view bytes, const WriteOptions& options = {});
// The same where there is no `name` yet: of all who try at once one is told true, and false changes nothing.
Result<bool> CreateFileIn(int folder, const std::string& name, std::string_view bytes,
                          const WriteOptions& options = {});

// `name` becomes a symbolic link to `target`, in place of a file or link of that name. Not durable.
Status ReplaceLink(int folder, const std::string& name, const std::string& target);

// Whether `name` is what a killed writer leaves behind that was not the sole one.
bool IsTemporary(const std::string& name);

// The names in the folder are durable, and its own. File systems that have no such thing are believed.
Status FlushFolder(int folder);

}  // namespace glim
