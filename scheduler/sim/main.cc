// glim-sim: the production core under virtual time. With --trace, jobs that once ran; without, random ones from seeds.
#include <algorithm>
#include <string_view>

#include "scheduler/sim/trace/trace_command.h"
#include "scheduler/sim/world/seeds_command.h"

int main(int argc, char** argv) {
  const bool traced = std::any_of(argv + 1, argv + argc, [](const char* word) {
    return std::string_view(word) == "--trace" || std::string_view(word).starts_with("--trace=");
  });
  return traced ? glim::sim::RunTraceCommand(argc, argv) : glim::sim::RunSeedsCommand(argc, argv);
}
