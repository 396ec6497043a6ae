// glim-sim --trace FILE: the command line of the trace mode.
#pragma once

namespace glim::sim {

// Returns the exit code: 0; 1 when anything was violated; 2 for a file that is refused, CLI11's own for a command line.
int RunTraceCommand(int argc, char** argv);

}  // namespace glim::sim
