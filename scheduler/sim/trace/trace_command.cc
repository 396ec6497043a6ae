#include "scheduler/sim/trace/trace_command.h"

#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "scheduler/policy/policy_file.h"
#include "scheduler/sim/trace/trace_figures.h"
#include "scheduler/sim/trace/trace_history.h"
#include "scheduler/sim/trace/trace_world.h"
#include "sdk/base/duration_text.h"

namespace glim::sim {
namespace {

constexpr int kRefused = 2;

struct Words {
  std::string trace, policy, faults, cluster, quotas;
  std::uint32_t days = 0, resamples = 0;
  std::string cost = "40s,60s";
  bool json = false;
  bool no_wall = false;
};

int Refuse(const char* option, const Status& status) {
  std::fprintf(stderr, "glim-sim: %s: %s", option, status.message().c_str());
  if (!status.fix().empty()) std::fprintf(stderr, "; %s", status.fix().c_str());
  std::fputc('\n', stderr);
  return kRefused;
}

// A baseline by its name, or a policy file.
Status TakePolicy(const std::string& word, TraceOptions* options) {
  core::Policy& policy = options->policy;
  policy.enforce_time_limits = false;  // jobs of a trace ran longer than their users had said, now and then
  if (word.empty()) return Status::Ok();
  if (word == "fifo") {
    options->planner = core::PlannerKind::kFifo;
  } else if (word == "easy") {
    options->planner = core::PlannerKind::kEasy;
    options->exact_limits = true;
  } else if (word == "tiresias") {
    options->planner = core::PlannerKind::kTiresias;
  } else {
    auto file = server::ReadPolicyFile(word, {policy, {}});
    if (!file.ok()) return file.status();
    policy = std::move(file).value().policy;
  }
  return Status::Ok();
}

// "40s,60s"
Status TakeCost(const std::string& text, TraceOptions* options) {
  const std::size_t comma = text.find(',');
  const auto small = ParseDuration(text.substr(0, comma));
  const auto large = comma == std::string::npos ? small : ParseDuration(text.substr(comma + 1));
  const auto bounded = [](const std::optional<Duration>& d) { return d && *d <= Hours(24); };
  if (!bounded(small) || !bounded(large)) {
    return InvalidArgument("", "'" + text.substr(0, 40) + "' is no pair of durations of up to a day",
                           "write it like 40s,60s");
  }
  options->restore_small = *small;
  options->restore_large = *large;
  return Status::Ok();
}

void Declare(CLI::App& app, Words& words, TraceOptions& options) {
  app.add_option("--trace", words.trace, "a CSV file: job_id,user,submit_s,duration_s,gpus,nodes,walltime_s,state")
      ->required();
  auto* const nodes = app.add_option("--nodes", options.nodes, "of 8 GPUs each")->check(CLI::Range(1, 20'000));
  auto* const cluster =
      app.add_option("--cluster", words.cluster, "a CSV file of its own nodes: name,pool,zone,leaf,gpus");
  nodes->excludes(cluster);
  app.add_option("--quotas", words.quotas, "a CSV file, in place of the policy's: of,subject,pool,class,nodes");
  app.add_option("--days", words.days, "with --cluster: that the trace is of")->check(CLI::Range(1, 3660));
  app.add_option("--resamples", words.resamples, "with --days: how often as many days are drawn from these and played")
      ->check(CLI::Range(0, 10'000));
  app.add_option("--zones", options.zones, "that they are dealt out to")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--leaf-nodes", options.leaf_nodes, "nodes of a leaf switch")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  app.add_option("--policy", words.policy, "a policy file, or a baseline: fifo, easy, tiresias");
  app.add_option("--checkpoint-cost", words.cost, "of an interruption: of jobs of up to 8 GPUs, of larger ones")
      ->capture_default_str();
  app.add_option("--faults", words.faults, "a YAML file: how often nodes fail, and what becomes of them");
  app.add_option("--seed", options.seed, "of the faults, and of the days that are drawn")->capture_default_str();
  app.add_option("--check-every", options.check_every, "batches between two looks at the invariants")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--estimates", options.estimates, "also ask for estimates of starts, and say whether they held");
  app.add_flag("--json", words.json, "one JSON line");
  app.add_flag("--no-wall", words.no_wall, "leave out what depends on the machine: pass_us_*, wall_s");
}

void Print(const nlohmann::ordered_json& figures, bool json) {
  if (json) {
    std::printf("%s\n", figures.dump().c_str());
    return;
  }
  for (const auto& [key, value] : figures.items()) std::printf("%-30s %s\n", key.c_str(), value.dump().c_str());
}

// Its own nodes, or so many alike.
Status TakeCluster(const Words& words, TraceOptions* options) {
  if (words.cluster.empty()) {
    if (options->nodes > 0) return Status::Ok();
    return InvalidArgument("", "is missing", "say how many nodes there are, or name a file of them: --cluster");
  }
  auto cluster = ReadNodes(words.cluster);
  if (!cluster.ok()) return cluster.status();
  options->cluster = std::move(cluster).value();
  options->nodes = static_cast<std::uint32_t>(options->cluster.size());
  return Status::Ok();
}

// Of a cluster's own history: by class, and of drawn days. Returns how many violations there were.
std::uint64_t AddHistory(const Words& words, TraceOptions options, const std::vector<TraceJob>& trace,
                         const TraceOutcome& outcome, nlohmann::ordered_json* figures) {
  (*figures)["history"] = HistoryFiguresOf(outcome, options.nodes);
  options.check_every = std::numeric_limits<std::uint64_t>::max();  // the first run was looked at
  std::uint64_t violations = 0;
  auto resampled = nlohmann::ordered_json::array();
  for (std::uint32_t i = 1; i <= words.resamples && words.days > 0; ++i) {
    Rng seeds(options.seed + i);
    std::vector<TraceJob> drawn = DrawDays(trace, words.days, seeds.Next());
    if (drawn.empty()) continue;
    const TraceOutcome one = TraceWorld(options, std::move(drawn)).Run();
    violations += one.violations;
    resampled.push_back(HistoryFiguresOf(one, options.nodes));
  }
  (*figures)["resampled"] = std::move(resampled);
  return violations;
}

}  // namespace

int RunTraceCommand(int argc, char** argv) {
  CLI::App app{"Glim's scheduler in virtual time: plays a trace of jobs that once ran, and says how long they waited"};
  Words words;
  TraceOptions options;
  Declare(app, words, options);
  options.nodes = 0;
  CLI11_PARSE(app, argc, argv);

  if (Status s = TakeCluster(words, &options); !s.ok()) {
    return Refuse(words.cluster.empty() ? "--nodes" : "--cluster", s);
  }
  if (options.zones > options.nodes) {
    return Refuse("--zones", InvalidArgument("", "there are fewer nodes than zones", "give at most a zone a node"));
  }
  if (Status s = TakeCost(words.cost, &options); !s.ok()) return Refuse("--checkpoint-cost", s);
  if (Status s = TakePolicy(words.policy, &options); !s.ok()) return Refuse("--policy", s);
  if (!words.faults.empty()) {
    auto faults = ReadFaults(words.faults);
    if (!faults.ok()) return Refuse("--faults", faults.status());
    options.faults = *faults;
  }
  if (!words.quotas.empty()) {
    auto quotas = ReadQuotas(words.quotas);
    if (!quotas.ok()) return Refuse("--quotas", quotas.status());
    options.quotas = std::move(quotas).value();
  }
  auto trace = ReadTrace(words.trace);
  if (!trace.ok()) return Refuse("--trace", trace.status());

  const auto begin = std::chrono::steady_clock::now();
  const TraceOutcome outcome = TraceWorld(options, *trace).Run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  auto figures = FiguresOf(outcome, options.nodes, words.no_wall ? -1 : wall.count());
  if (options.estimates) figures.update(CalibrationOf(outcome.estimates));
  std::uint64_t violations = outcome.violations;
  if (!options.cluster.empty()) violations += AddHistory(words, options, *trace, outcome, &figures);
  Print(figures, words.json);
  for (const std::string& text : outcome.violation_texts) std::fprintf(stderr, "violation %s\n", text.c_str());
  return violations == 0 ? 0 : 1;
}

}  // namespace glim::sim
