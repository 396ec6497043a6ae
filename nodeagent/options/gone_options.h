// Options that an earlier release had: who still gives one is told what to do now. Pure.
#pragma once

#include <map>
#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

// By option ("--replica-memory"): what to do instead.
const std::map<std::string, std::string>& GoneOptions();

// Of a word of the command line, "--replica-memory" or "--replica-memory=64GiB". OK if it is none of these.
Status RefuseGone(const std::string& word);

}  // namespace glim::nodeagent
