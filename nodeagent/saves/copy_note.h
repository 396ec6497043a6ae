// STATE_DIR/copies: which copies this agent has published, and what their files looked like then.
// Stateless functions that block.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

struct CopyName {
  std::uint64_t job = 0;
  std::string local;
  std::string identity;
};

// Whether what lies at that path is our copy of that save, and nobody has touched a file of it.
bool IsOurCopy(const std::string& state_dir, const CopyName& copy);
Status NoteCopy(const std::string& state_dir, const CopyName& copy);
void ForgetCopy(const std::string& state_dir, const CopyName& copy);
// Removes the notes of copies that are gone or were touched.
void SweepNotes(const std::string& state_dir);

}  // namespace glim::nodeagent
