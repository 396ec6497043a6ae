// Each folder's disk: written in sequence past the page cache, made durable, read back and compared; and how long 4 KiB
// take to be durable. The file has no name, so nothing is left of it, however this program ends.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// FileError's, of the first folder in which no file can be made.
Readings MeasureDisk(const Options& options);

}  // namespace glim::validate
