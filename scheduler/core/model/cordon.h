// A node that an operator has taken out (lifecycle/cordon.h), in words. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"

namespace glim::core {

// "cordoned by ann: a new fan", "being drained by ann: a new fan", "drained by ann: a new fan".
std::string CordonInWords(const Cordon& cordon);

// What an operator or a user says of why: one line of at most 500 bytes, for people.
Status CheckReason(const std::string& reason);

// `who`, and behind a colon why, if that is known.
std::string WithReason(const std::string& who, const std::string& reason);

}  // namespace glim::core
