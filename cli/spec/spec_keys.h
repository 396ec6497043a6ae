// Which keys a job spec may have, section by section: the one table behind "unknown key", "did you mean" and the
// check that deploy/job.schema.json says the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glim::cli {

struct SpecKey {
  std::string_view name;
  bool supported = true;  // false: a key of the format that this version refuses instead of ignoring it
};

struct SpecSection {
  std::string_view path;  // "" for the top level; "mounts[]" for each item of a list
  std::span<const SpecKey> keys;
};

std::span<const SpecSection> SpecSections();

// The section at `path` ("interrupt", "mounts[3]"); asking for one that does not exist is a bug (CHECK).
const SpecSection& FindSpecSection(std::string_view path);

// How to mend an unknown `key` of section `path`: "did you mean 'nodes'?", "did you mean 'interrupt.grace'?", or the
// list of the section's keys.
std::string SuggestSpecKey(std::string_view path, std::string_view key);

}  // namespace glim::cli
