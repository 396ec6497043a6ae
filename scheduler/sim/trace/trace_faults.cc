#include "scheduler/sim/trace/trace_faults.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "sdk/io/read_file.h"

namespace glim::sim {
namespace {

constexpr std::size_t kFaultsBytesMax = 64 * 1024;

using Field = std::function<Status(const YAML::Node& value, const std::string& at)>;
using Fields = std::map<std::string, Field>;

Status Refuse(const YAML::Mark& mark, const std::string& key, const std::string& message, std::string fix) {
  const std::string where = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ", ";
  return Status(StatusCode::kInvalidArgument, where + key + ": " + message)
      .WithReason("BAD_FAULTS")
      .WithField(key)
      .WithFix(std::move(fix));
}

Status ReadFields(const YAML::Node& node, const std::string& prefix, const Fields& fields) {
  const std::string self = prefix.empty() ? "the file" : prefix.substr(0, prefix.size() - 1);
  if (!node.IsMap()) return Refuse(node.Mark(), self, "must be a mapping of keys to values", "write key: value lines");
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "(not a word)";
    const std::string at = prefix + key;
    const auto field = fields.find(key);
    if (field == fields.end()) {
      std::string known;
      for (const auto& [name, reader] : fields) known += (known.empty() ? "known here: " : ", ") + name;
      return Refuse(pair.first.Mark(), at, "unknown key", known);
    }
    if (!seen.insert(key).second) return Refuse(pair.first.Mark(), at, "is given twice", "keep one");
    if (Status s = field->second(pair.second, at); !s.ok()) return s;
  }
  return Status::Ok();
}

Field IntoReal(double* out, double low, double high) {
  return [=](const YAML::Node& value, const std::string& at) {
    std::ostringstream range;
    range << "use a number from " << low << " to " << high;
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || !(number >= low && number <= high)) {
      return Refuse(value.Mark(), at, whole ? text + " is out of range" : "must be a number", range.str());
    }
    *out = number;
    return Status::Ok();
  };
}

Field IntoTime(Duration* out, Duration low) {
  return [=](const YAML::Node& value, const std::string& at) {
    static const std::map<std::string, std::int64_t> kUnits = {
        {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto unit = error == std::errc() ? kUnits.find(std::string(end, text.data() + text.size())) : kUnits.end();
    if (unit == kUnits.end() || number < 0 || number > 1'000'000 || number * unit->second < low.ms) {
      return Refuse(value.Mark(), at, "must be a duration of at least " + std::to_string(low.ms) + "ms",
                    "write it like 10s, 5m, 2h or 30d");
    }
    *out = Milliseconds(number * unit->second);
    return Status::Ok();
  };
}

Status ReadPlan(const YAML::Node& node, FaultPlan* plan) {
  const Fields shares = {{"nvlink", IntoReal(&plan->nvlink, 0, 100)},
                         {"software", IntoReal(&plan->software, 0, 100)},
                         {"ecc", IntoReal(&plan->ecc, 0, 100)},
                         {"reset", IntoReal(&plan->reset, 0, 100)},
                         {"rma", IntoReal(&plan->rma, 0, 100)}};
  const Fields fields = {
      {"node_mtbf_days", IntoReal(&plan->node_mtbf_days, 0.01, 1e6)},
      {"checkpoint_every", IntoTime(&plan->checkpoint_every, Seconds(1))},
      {"reboot", IntoTime(&plan->reboot, {})},
      {"repair", IntoTime(&plan->repair, {})},
      {"link_flap", IntoTime(&plan->link_flap, {})},
      {"link_flap_share", IntoReal(&plan->link_flap_share, 0, 0.99)},
      {"shares", [&](const YAML::Node& v, const std::string& at) { return ReadFields(v, at + ".", shares); }}};
  if (Status s = ReadFields(node, "", fields); !s.ok()) return s;
  if (plan->nvlink + plan->software + plan->ecc + plan->reset + plan->rma > 0) return Status::Ok();
  return Refuse(YAML::Mark::null_mark(), "shares", "all are 0", "give at least one of them");
}

// In (0, 1].
double Uniform(Rng& rng) { return (static_cast<double>(rng.Next() >> 11) + 1) / 9007199254740992.0; }

Status TooLarge() {
  return Refuse(YAML::Mark::null_mark(), "the file", "is larger than 64 KiB", "give only the keys that differ");
}

}  // namespace

Result<FaultPlan> ParseFaults(const std::string& text) {
  if (text.size() > kFaultsBytesMax) return TooLarge();
  FaultPlan plan;
  try {
    const YAML::Node node = YAML::Load(text);
    if (node.IsNull()) return plan;  // nothing differs
    if (Status s = ReadPlan(node, &plan); !s.ok()) return s;
  } catch (const YAML::Exception& e) {
    return Refuse(e.mark, "the file", "is no YAML: " + e.msg, "write key: value lines");
  }
  return plan;
}

Result<FaultPlan> ReadFaults(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kFaultsBytesMax);
  if (text.status().code() == StatusCode::kResourceExhausted) return TooLarge();
  if (!text.ok()) {
    return Status(StatusCode::kNotFound, path + ": cannot be read")
        .WithReason("BAD_FAULTS")
        .WithFix("name a readable file");
  }
  return ParseFaults(*text);
}

Duration UntilNextFault(const FaultPlan& plan, std::uint32_t nodes, Rng& rng) {
  const double mean_ms = plan.node_mtbf_days * 86'400'000.0 / nodes;
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
