// What people are told of a node beside its state. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/rows.h"

namespace glim::server {

// Who has taken it out, and what is wrong with it: one fault, tasks that are to go, and all that is wrong with its
// hardware; empty: nothing.
std::string NodeNote(const core::Node& node);

}  // namespace glim::server
