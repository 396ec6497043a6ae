// How soon the scheduler is to hear of a change.
#pragma once

namespace glim::nodeagent {

// kProgress: a step or some copied bytes; it may wait for the next report.
enum class Urgency { kNow, kProgress };

}  // namespace glim::nodeagent
