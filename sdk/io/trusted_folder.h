// Folders that many users' things lie in, under names that others count on: nobody but those who are trusted anyway may
// give such a name to something else. Stateless functions, any thread; along descriptors, and never over a link.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sdk/io/unique_fd.h"

namespace glim {

struct TrustedFolder {
  UniqueFd fd;      // O_PATH
  int error = 0;    // errno; none: `fd` is open
  std::string why;  // with EACCES, for people: whose it is, and what to do about that
};

// Opens the folder `name` of the open folder `above`. It has to belong to root, to the caller, or to whom `above`
// belongs (or to `whose`, if it is to be that user's), and be closed to all others' writing; or be sticky: what has a
// name there is still whoever's took it first.
TrustedFolder OpenTrusted(int above, const std::string& name, std::optional<uid_t> whose = {});

// Makes it, with exactly this mode, where it is missing and what the caller makes is the caller's (and not nobody's,
// on a server that trusts nobody's root). 0 or errno; 0 also where there is something of that name.
int MakeTrusted(int above, const std::string& name, mode_t mode);

}  // namespace glim
