// What an ignore file (.gitignore, .glimignore) says of a path. git's rules: the last line that matches decides; "!"
// takes back; a "/" at the end: folders alone; a "/" elsewhere: from the file's own folder on, else at any depth.
// Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/snapshot/glob.h"

namespace glim::cli {

enum class Verdict { kNone, kIgnore, kKeep };

class IgnoreRules {
 public:
  IgnoreRules() = default;
  explicit IgnoreRules(std::string_view text);

  // Of `path`, relative to the file's folder. What its parents are is for the caller to ask first: what lies in a
  // folder that is ignored is ignored, and no line takes that back.
  Verdict Decide(std::string_view path, bool is_folder) const;

 private:
  struct Rule {
    Glob glob;
    bool keep = false;
    bool folders_only = false;
    bool name_only = false;  // matched against the last name
  };
  void AddLine(std::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace glim::cli
