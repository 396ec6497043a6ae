// glim-bench-false-alarms: nodes under the real rules of glim-health and the scheduler's real core, for many simulated
// node-days. Things happen to them that are no fault of theirs, at the rates below, and a few true faults of each kind.
// Prints what was taken out for nothing, and what was missed, as a line of JSON.
//
// The rates are of An et al., "Fire-Flyer AI-HPC", SC 2024, section VII-C: of all Xids 42.57 % are 74, 33.48 % are 43
// and about 2 % are errors of the GPU's memory; of the hardware faults without Xid 74 30 % are flashes of a link. The
// counts of its Tables VI to VIII are in an appendix that we do not have, so how many Xids a node has in a year is our
// assumption (--xids-per-node-year), and so is how often the rest happens, which is of no table.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "scheduler/core/model/health_rules.h"
#include "tests/bench/simulated_fleet.h"

namespace glim::bench {
namespace {

struct Options {
  std::uint32_t node_days = 10'000;
  std::uint32_t nodes = 100;
  std::uint32_t faults = 5;  // of each kind
  double xids_per_node_year = 10;
  double times = 1;  // as often, whatever is no fault
  std::uint64_t seed = 1;
};

constexpr std::uint32_t kUsers = 30;
constexpr Duration kTick = Minutes(10);
constexpr Duration kSoon = Minutes(5);    // a true fault is found within
constexpr Duration kMoment = Minutes(1);  // a node that is kept away for less is not taken out
constexpr Duration kRepair = Hours(12);
constexpr double kDaysAYear = 365;
constexpr double kNvlinkShare = 0.4257, kSoftwareShare = 0.5348;  // the rest are true faults: planted, all kinds alike

std::string Xid(const std::string& pci, std::int64_t number) {
  return "NVRM: Xid (PCI:" + pci.substr(0, pci.size() - 2) + "): " + std::to_string(number) +
         ", pid=4711, name=python3";
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), rng_(options.seed), fleet_(options.nodes, kUsers, rng_), nodes_(options.nodes) {}

  void Run() {
    const TimePoint begin = fleet_.now();
    end_ = begin + Duration{Hours(24).ms * options_.node_days / options_.nodes};
    Innocent();
    Faults(begin);
    for (TimePoint tick = begin + kTick; tick < end_; tick = tick + kTick) {
      while (!plans_.empty() && plans_.begin()->first <= tick) {
        const auto next = plans_.extract(plans_.begin());
        fleet_.AdvanceTo(next.key());
        next.mapped()();
        JudgeAll();
      }
      fleet_.AdvanceTo(tick);
      LookAtAll();
    }
    Tell();
  }

 private:
  struct State {
    bool faulty = false;
    std::string kind;
    std::optional<TimePoint> due;  // until then it has to be taken out
    std::optional<TimePoint> away_since;
    bool out = false;
  };
  using Happens = std::function<void(std::size_t)>;

  void Plan(TimePoint at, std::function<void()> what) {
    if (at < end_) plans_.emplace(at, std::move(what));
  }
  double Uniform() { return (static_cast<double>(rng_.Next() >> 11) + 1) / 9007199254740992.0; }
  int AnyGpu() { return static_cast<int>(rng_.Between(0, SimulatedHardware::kGpus - 1)); }
  std::size_t AnyNode() { return static_cast<std::size_t>(rng_.Between(0, options_.nodes - 1)); }
  SimulatedHardware& Hardware(std::size_t i) { return fleet_.hardware(i); }

  // --- What is no fault of the node.
  void Often(const char* what, double per_node_day, Happens happens) {
    const double mean_ms = static_cast<double>(Hours(24).ms) / (per_node_day * options_.times * options_.nodes);
    const auto again = [this, what, mean_ms, happens](const auto& self) -> void {
      const Duration wait{std::max<std::int64_t>(1, std::llround(-std::log(Uniform()) * mean_ms))};
      Plan(fleet_.now() + wait, [this, what, happens, self] {
        const std::size_t i = AnyNode();
        if (!nodes_[i].faulty && !nodes_[i].out) {
          ++happened_[what];
          happens(i);
        }
        self(self);
      });
    };
    again(again);
  }

  void Innocent() {
    const double xids = options_.xids_per_node_year / kDaysAYear;
    Often("xid_of_a_program", xids * kSoftwareShare, [this](std::size_t i) { ProgramFails(i); });
    Often("xid_74_once", xids * kNvlinkShare, [this](std::size_t i) { Say(i, Xid(Hardware(i).Pci(AnyGpu()), 74)); });
    // 30 % of what is left of the Xids, and as many errors of main memory as of GPUs' (Figure 10: there are fewer).
    const double hardware = xids * (1 - kNvlinkShare - kSoftwareShare);
    Often("flash_once", 2 * hardware * 0.3 / 0.7, [this](std::size_t i) { Flash(i); });
    Often("xid_of_no_row", xids / 10, [this](std::size_t i) { Say(i, Xid(Hardware(i).Pci(AnyGpu()), 8)); });
    Often("memory_corrected", 1.0 / 7, [this](std::size_t i) {
      *Hardware(i).module.corrected += rng_.Between(1, 50);
      *Hardware(i).gpus[0].corrected += rng_.Between(0, 50);
      fleet_.Look(i);
    });
    Often("short_throttle", 1, [this](std::size_t i) { Throttle(i, Seconds(30)); });
    Often("long_throttle", 1.0 / 30, [this](std::size_t i) { Throttle(i, Minutes(8)); });
    Often("program_speaks_like_the_kernel", 1.0 / 7, [this](std::size_t i) {
      Hardware(i).Say(fleet_.now(), Xid(Hardware(i).Pci(0), 79), 1);
      Hardware(i).Say(fleet_.now(), "python3[4711]: " + Xid(Hardware(i).Pci(0), 79));
      Say(i, "I/O error, dev loop0, sector 2048 op 0x0:(READ) flags 0x0");
    });
    Often("reboot", 1.0 / 30, [this](std::size_t i) { fleet_.Reboot(i); });
    Often("agent_restart", 1.0 / 3, [this](std::size_t i) { fleet_.RestartAgent(i); });
    Often("job_ends", 1, [this](std::size_t i) { fleet_.EndJob(i, 0); });
  }

  void Say(std::size_t i, const std::string& text) {
    Hardware(i).Say(fleet_.now(), text);
    fleet_.Look(i);
  }

  // Each of its ranks, or one, says so, and the job fails.
  void ProgramFails(std::size_t i) {
    constexpr std::int64_t kCodes[] = {43, 43, 43, 43, 43, 13, 31, 45};  // 33.48 of 53.48 are 43
    const std::int64_t code = kCodes[rng_.Between(0, 7)];
    const int only = AnyGpu();
    const bool all = rng_.OneIn(3);
    for (int gpu = 0; gpu < SimulatedHardware::kGpus; ++gpu) {
      if (all || gpu == only) Hardware(i).Say(fleet_.now(), Xid(Hardware(i).Pci(gpu), code));
    }
    fleet_.Look(i, true);
    fleet_.EndJob(i, 1);
  }

  void Flash(std::size_t i) {
    ++*Hardware(i).port.downed;
    Hardware(i).port.active = false;
    fleet_.Look(i);
    Plan(fleet_.now() + Seconds(3), [this, i] {
      Hardware(i).port.active = true;
      fleet_.Look(i);
    });
  }

  void Throttle(std::size_t i, Duration lasts) {
    const auto gpu = static_cast<std::size_t>(AnyGpu());
    const auto set = [this, i, gpu](bool throttled) {
      Hardware(i).gpus[gpu].throttled = throttled;
      Hardware(i).gpus[gpu].throttled_by = "heat";
      fleet_.Look(i);
    };
    set(true);
    Plan(fleet_.now() + lasts, [set] { set(false); });
  }

  // --- True faults. Each begins on a node of its own; what has to happen several times comes after so long again.
  struct Fault {
    const char* kind;
    std::vector<Duration> again;
    Happens happens;
  };

  Happens Lines(std::vector<std::int64_t> codes) {
    return [this, codes](std::size_t i) {
      const auto which = static_cast<std::size_t>(rng_.Between(0, static_cast<std::int64_t>(codes.size()) - 1));
      Say(i, Xid(Hardware(i).Pci(1), codes[which]));
    };
  }
  Happens Line(std::string text) {
    return [this, text](std::size_t i) { Say(i, text); };
  }
  // A reading that is wrong from now on; cards are looked at twice, and GPUs that are slow for a minute.
  Happens Reads(std::function<void(SimulatedHardware&)> change) {
    return [this, change](std::size_t i) {
      change(Hardware(i));
      for (int look = 1; look <= 3; ++look) Plan(fleet_.now() + Seconds(61) * look, [this, i] { fleet_.Look(i); });
      fleet_.Look(i);
    };
  }

  std::vector<Fault> Kinds() {
    std::vector<Duration> eight_hours;
    for (int k = 1; k < 12; ++k) eight_hours.push_back(Hours(8) * k);
    return {
        {"xid_out", {}, Lines({44, 48, 61, 62, 69, 79, 119})},
        {"xid_memory", {}, Lines({63, 64, 94, 95})},
        {"xid_74_repeats", {Hours(3), Hours(6)}, Lines({74})},
        {"xid_31_of_every_user", eight_hours, [this](std::size_t i) { FailsForAnybody(i); }},
        {"flash_repeats", {Hours(24), Hours(72)}, [this](std::size_t i) { Flash(i); }},
        {"link_slow", {}, Reads([](SimulatedHardware& h) { h.port.rate_mbps = 100'000; })},
        {"link_down", {}, Reads([](SimulatedHardware& h) { h.port.active = false; })},
        {"memory_uncorrected", {}, Reads([](SimulatedHardware& h) { ++*h.module.uncorrected; })},
        {"machine_check",
         {},
         Line("mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400")},
        {"gpu_uncorrected", {}, Reads([](SimulatedHardware& h) { ++*h.gpus[2].uncorrected; })},
        {"gpu_lost", {}, Reads([](SimulatedHardware& h) { h.gpus[2].lost = true; })},
        {"gpu_rows_gone", {}, Reads([](SimulatedHardware& h) { h.gpus[2].remap_failed = true; })},
        {"nvlink_down", {}, Reads([](SimulatedHardware& h) { h.gpus[2].links[3].active = false; })},
        {"gpu_lanes", {}, Reads([](SimulatedHardware& h) { h.gpus[2].width = 8; })},
        {"card_lanes", {}, Reads([](SimulatedHardware& h) { h.card.now.width = 8; })},
        {"disk_error", {}, Line("I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0")},
        {"disk_read_only", {}, Reads([](SimulatedHardware& h) { h.disk_read_only = true; })},
    };
  }

  void FailsForAnybody(std::size_t i) {
    Hardware(i).Say(fleet_.now(), Xid(Hardware(i).Pci(5), 31));
    fleet_.Look(i, true);
    fleet_.EndJob(i, 1);
  }

  // They begin in the first three quarters, so that those that have to repeat can.
  void Faults(TimePoint begin) {
    const std::int64_t room = (end_ - begin).ms * 3 / 4;
    for (Fault& fault : Kinds()) {
      for (std::uint32_t n = 0; n < options_.faults; ++n) {
        Plan(begin + Duration{rng_.Between(0, room)}, [this, fault] { Begin(fault); });
      }
    }
  }

  void Begin(const Fault& fault) {
    std::size_t i = AnyNode();
    for (std::size_t tries = 0; tries < nodes_.size() && (had_fault_.contains(i) || nodes_[i].out); ++tries) {
      i = (i + 1) % nodes_.size();
    }
    if (nodes_[i].faulty || nodes_[i].out) return;
    const TimePoint last = fault.again.empty() ? fleet_.now() : fleet_.now() + fault.again.back();
    if (last + kTick > end_) return;
    had_fault_.insert(i);
    ++planted_[fault.kind];
    nodes_[i] = {true, fault.kind, last + kSoon, {}, false};
    fault.happens(i);
    for (const Duration after : fault.again) {
      Plan(fleet_.now() + after, [this, i, fault] {
        if (nodes_[i].faulty && nodes_[i].kind == fault.kind && !nodes_[i].out) fault.happens(i);
      });
    }
  }

  // --- What the scheduler did.
  void LookAtAll() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      SimulatedHardware& hardware = Hardware(i);
      *hardware.port.symbol_errors += 16;  // 96 an hour: a sound cable, and no more than is allowed
      hardware.port.recoveries = *hardware.port.recoveries + (rng_.OneIn(2) ? 1 : 0);
      hardware.package.throttles += 30;  // between two looks
      for (auto& gpu : hardware.gpus) {
        gpu.busy_percent = rng_.OneIn(4) ? 0 : 90;  // one that rests lowers its link
        gpu.generation = gpu.busy_percent == 0 ? 1 : 4;
      }
      fleet_.Look(i);
    }
    JudgeAll();
  }

  void JudgeAll() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) Judge(i);
  }

  void Judge(std::size_t i) {
    State& state = nodes_[i];
    if (state.out) return;
    const core::Node& node = fleet_.node(i);
    const bool kept_away = core::KeptAwayBy(node) != nullptr;
    if (!kept_away) state.away_since.reset();
    if (kept_away && !state.away_since) state.away_since = fleet_.now();
    const bool away = state.away_since && fleet_.now() - *state.away_since >= kMoment;
    if (node.cordon || away) return TakenOut(i, node.cordon ? node.cordon->reason : core::KeptAwayBy(node)->text);
    if (!state.faulty || fleet_.now() <= *state.due) return;
    ++missed_[state.kind];
    state.out = true;
    Plan(fleet_.now() + Minutes(1), [this, i] { Mend(i); });
  }

  void TakenOut(std::size_t i, const std::string& why) {
    State& state = nodes_[i];
    if (state.faulty) {
      ++found_[state.kind];
    } else {
      false_alarms_.push_back(why);
    }
    state.out = true;
    Plan(fleet_.now() + (state.faulty ? kRepair : Minutes(1)), [this, i] { Mend(i); });
  }

  void Mend(std::size_t i) {
    Hardware(i).Repair();
    fleet_.Look(i, true);
    if (fleet_.node(i).cordon) fleet_.Uncordon(i);
    nodes_[i] = {};
  }

  void Tell() const {
    const auto sum = [](const std::map<std::string, int>& counts) {
      int all = 0;
      for (const auto& [name, count] : counts) all += count;
      return all;
    };
    nlohmann::json line = {{"node_days", options_.node_days},
                           {"nodes", options_.nodes},
                           {"seed", options_.seed},
                           {"times", options_.times},
                           {"xids_per_node_year", options_.xids_per_node_year},
                           {"false_alarms", false_alarms_.size()},
                           {"why", false_alarms_},
                           {"faults", sum(planted_)},
                           {"found", sum(found_)},
                           {"missed", missed_},
                           {"happened", happened_}};
    if (line["why"].size() > 20) line["why"].erase(line["why"].begin() + 20, line["why"].end());
    std::printf("%s\n", line.dump().c_str());
  }

  const Options options_;
  Rng rng_;
  SimulatedFleet fleet_;
  TimePoint end_;
  std::vector<State> nodes_;
  std::set<std::size_t> had_fault_;
  std::multimap<TimePoint, std::function<void()>> plans_;
  std::map<std::string, int> happened_, planted_, found_, missed_;
  std::vector<std::string> false_alarms_;
};

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) {
  CLI::App app{"How often a node is taken out for nothing, and a true fault missed, as a line of JSON"};
  glim::bench::Options options;
  app.add_option("--node-days", options.node_days)->check(CLI::Range(100, 10'000'000))->capture_default_str();
  app.add_option("--nodes", options.nodes)->check(CLI::Range(10, 10'000))->capture_default_str();
  app.add_option("--faults", options.faults, "of each kind")->check(CLI::Range(0, 10'000))->capture_default_str();
  app.add_option("--xids-per-node-year", options.xids_per_node_year)
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--times", options.times, "what is no fault happens so many times as often")
      ->check(CLI::Range(0.01, 1e4))
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  glim::bench::Bench(options).Run();
  return 0;
}
