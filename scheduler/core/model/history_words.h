// The sentence about an entry of the history: for `glim events`, JSON and logs alike. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/history.h"

namespace glim::core {

// "stop after step 41", "node-1: 0 of 1 nodes free; waits for job 7". Empty where the kind alone says it all. At most
// about kHistoryTextBytesMax bytes.
std::string HistoryWords(const HistoryEntry& entry);

// "no step, save or output for 41 min (its longest gap before was 1 min 30 s)"; `longest` 0: no gap is known.
std::string NoSignFor(Duration silent, Duration longest);

}  // namespace glim::core
