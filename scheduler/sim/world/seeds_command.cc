#include "scheduler/sim/world/seeds_command.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include <CLI/CLI.hpp>

#include "scheduler/sim/world/world.h"

namespace glim::sim {
namespace {

nlohmann::ordered_json ToJson(const WorldReport& r) {
  return {{"seed", r.seed},
          {"events", r.events},
          {"batches", r.batches},
          {"jobs", r.jobs},
          {"succeeded", r.succeeded},
          {"failed", r.failed},
          {"cancelled", r.cancelled},
          {"interrupts", r.interrupts},
          {"saved", r.saved},
          {"left_unsaved", r.left_unsaved},
          {"killed", r.killed},
          {"withdrawn", r.withdrawn},
          {"timeouts", r.timeouts},
          {"dependants", r.dependants},
          {"swap_aborted", r.swap_aborted},
          {"node_failures", r.node_failures},
          {"nodes_lost", r.nodes_lost},
          {"outages", r.outages},
          {"scheduler_restarts", r.scheduler_restarts},
          {"agent_restarts", r.agent_restarts},
          {"supervisors_lost", r.supervisors_lost},
          {"relabelled", r.relabelled},
          {"reinstalled", r.reinstalled},
          {"rivals", r.rivals},
          {"messages_lost", r.messages_lost},
          {"clock_steps", r.clock_steps},
          {"virtual_ms", r.virtual_ms},
          {"digest", r.digest},
          {"invariant_violations", r.violations.size()}};
}

void PrintFailure(const WorldReport& report, const WorldOptions& options) {
  std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(report.seed),
               report.violations.front().c_str());
  std::fprintf(stderr, "  again: glim-sim --seed %llu --events %llu%s\n", static_cast<unsigned long long>(report.seed),
               static_cast<unsigned long long>(options.events), options.faults ? " --faults" : "");
}

}  // namespace

int RunSeedsCommand(int argc, char** argv) {
  CLI::App app{"Glim's scheduler in virtual time: random jobs, interrupts and ranks that answer late, twice or never"};
  app.footer("glim-sim --trace FILE.csv --nodes N plays a trace instead; glim-sim --trace --help says how.");
  WorldOptions options;
  std::uint64_t seeds = 1;
  bool json = false;
  app.add_option("--seed", options.seed, "the first seed")->capture_default_str();
  app.add_option("--seeds", seeds, "how many seeds, counting up")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--events", options.events, "driven for a seed; then as many as it takes until every job has ended")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--zones", options.zones)->check(CLI::Range(1, 8))->capture_default_str();
  app.add_option("--leaves", options.leaves_per_zone, "a zone")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--nodes", options.nodes_per_leaf, "a leaf")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_flag("--faults", options.faults, "lose nodes, messages, agents, schedulers and the time");
  app.add_flag("--json", json, "a JSON line a seed");
  CLI11_PARSE(app, argc, argv);

  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t events = 0, failures = 0, interrupts = 0, jobs = 0;
  for (std::uint64_t i = 0; i < seeds; ++i, ++options.seed) {
    const WorldReport report = World(options).Run();
    events += report.events;
    interrupts += report.interrupts;
    jobs += report.jobs;
    if (json) std::printf("%s\n", ToJson(report).dump().c_str());
    if (report.violations.empty()) continue;
    ++failures;
    PrintFailure(report, options);
  }
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%llu seeds, %llu events, %llu jobs, %llu interrupts, %llu failures, %.1f s, %.0f events/s\n",
               static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(events),
               static_cast<unsigned long long>(jobs), static_cast<unsigned long long>(interrupts),
               static_cast<unsigned long long>(failures), wall_s, static_cast<double>(events) / wall_s);
  return failures == 0 ? 0 : 1;
}

}  // namespace glim::sim
