#include "scheduler/sim/trace/trace_faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sdk/yaml/fields.h"

namespace glim::sim {
namespace {

constexpr Duration kTimeMax = Hours(24 * 3650);

// In (0, 1].
double Uniform(Rng& rng) { return (static_cast<double>(rng.Next() >> 11) + 1) / 9007199254740992.0; }

}  // namespace

Result<FaultPlan> ParseFaults(const std::string& text, const std::string& source) {
  FaultPlan plan;
  const yaml::Fields shares = {{"nvlink", yaml::IntoReal(&plan.nvlink, 0, 100)},
                               {"software", yaml::IntoReal(&plan.software, 0, 100)},
                               {"ecc", yaml::IntoReal(&plan.ecc, 0, 100)},
                               {"reset", yaml::IntoReal(&plan.reset, 0, 100)},
                               {"rma", yaml::IntoReal(&plan.rma, 0, 100)}};
  const auto read_shares = [&](const yaml::Node& value, const std::string& path) {
    if (Status s = yaml::ReadMap(value, path, shares); !s.ok()) return s;
    if (plan.nvlink + plan.software + plan.ecc + plan.reset + plan.rma > 0) return Status::Ok();
    return yaml::RefuseAt(value, path, "all are 0", "give at least one of them");
  };
  const yaml::Fields fields = {{"node_mtbf_days", yaml::IntoReal(&plan.node_mtbf_days, 0.01, 1e6)},
                               {"checkpoint_every", yaml::IntoDuration(&plan.checkpoint_every, Seconds(1), kTimeMax)},
                               {"reboot", yaml::IntoDuration(&plan.reboot, {}, kTimeMax)},
                               {"repair", yaml::IntoDuration(&plan.repair, {}, kTimeMax)},
                               {"link_flap", yaml::IntoDuration(&plan.link_flap, {}, kTimeMax)},
                               {"link_flap_share", yaml::IntoReal(&plan.link_flap_share, 0, 0.99)},
                               {"shares", read_shares}};
  if (Status s = yaml::ReadText(text, source, fields); !s.ok()) return s;
  return plan;
}

Result<FaultPlan> ReadFaults(const std::string& path) {
  const auto text = yaml::ReadTextFile(path, "--faults");
  if (!text.ok()) return text.status();
  return ParseFaults(*text, path);
}

Duration UntilNextFault(const FaultPlan& plan, std::uint32_t nodes, Rng& rng) {
  const double mean_ms = plan.node_mtbf_days * static_cast<double>(Hours(24).ms) / nodes;
  return Milliseconds(std::max<std::int64_t>(1, std::llround(-std::log(Uniform(rng)) * mean_ms)));
}

Duration AwayAfterFault(const FaultPlan& plan, Rng& rng) {
  const double hardware = plan.ecc + plan.reset + plan.rma;
  const double link = hardware * plan.link_flap_share / (1 - plan.link_flap_share);
  const std::pair<double, Duration> kinds[] = {{plan.nvlink + plan.software, {}},
                                               {plan.ecc + plan.reset, plan.reboot},
                                               {plan.rma, plan.repair},
                                               {link, plan.link_flap}};
  double all = 0;
  for (const auto& [share, away] : kinds) all += share;
  double drawn = Uniform(rng) * all;
  for (const auto& [share, away] : kinds) {
    if (share > 0 && drawn <= share) return away;
    drawn -= share;
  }
  return {};
}

}  // namespace glim::sim
