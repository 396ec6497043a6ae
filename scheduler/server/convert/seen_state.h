// What an operator was shown, as a short word that a change carries back: `state` of an answer, `expect` of a request.
// Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::server {

// Of what was shown, in words.
std::string StateOf(const std::string& words);

// OK without `expect`; else ABORTED (CHANGED_MEANWHILE) where it is not that state. `what`: "node n7".
Status CheckExpected(const std::string& expect, const std::string& state, const std::string& what);

}  // namespace glim::server
