// glim-sim --seeds N: random jobs, interrupts and faults, from seeds.
#pragma once

namespace glim::sim {

// Returns the exit code: 0; 1 when anything was violated; CLI11's own for a command line that is refused.
int RunSeedsCommand(int argc, char** argv);

}  // namespace glim::sim
