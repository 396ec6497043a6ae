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
  nlohmann::ordered_json json = {{"seed", r.seed}};
  for (const Counter& counter : kCounters) json[counter.name] = r.*counter.of;
  json["virtual_ms"] = r.virtual_ms;
  json["digest"] = r.digest;
  json["invariant_violations"] = r.violations.size();
  return json;
}

// The line plays it again: all that makes the world is in it.
void PrintFailure(const WorldReport& report, const WorldOptions& options) {
  std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(report.seed),
               report.violations.front().c_str());
  WorldOptions again = options;
  again.seed = report.seed;
  std::fprintf(stderr, "  again: glim-sim %s\n", ArgumentsOf(again).c_str());
}

}  // namespace

int RunSeedsCommand(int argc, char** argv) {
  CLI::App app{"Glim's scheduler in virtual time: random jobs, interrupts and ranks that answer late, twice or never"};
  app.footer("glim-sim --trace FILE.csv --nodes N plays a trace instead; glim-sim --trace FILE --help says how.");
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
  app.add_option("--crowd", options.crowd, "jobs that one user queues at once; 0: as the seed says")
      ->check(CLI::Range(0, 200'000));
  app.add_option("--kinds", options.kinds, "of how many shapes these are")->check(CLI::Range(0, 200'000));
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
