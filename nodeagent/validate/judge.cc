#include "nodeagent/validate/judge.h"

#include <algorithm>
#include <cstdint>

#include "nodeagent/validate/rules.h"
#include "sdk/base/check.h"

namespace glim::validate {
namespace {

using Kind = std::pair<std::string, std::string>;

Kind KindOf(const Reading& reading) { return {reading.part, reading.what}; }

// The values of each kind that are right.
std::map<Kind, std::vector<double>> ByKind(const std::vector<Reading>& readings) {
  std::map<Kind, std::vector<double>> values;
  for (const Reading& reading : readings) {
    if (reading.wrong.empty() && reading.value > 0) values[KindOf(reading)].push_back(reading.value);
  }
  return values;
}

double ExpectedOf(const Rule& rule, const Kind& kind, const Baseline& baseline,
                  const std::map<Kind, std::vector<double>>& own) {
  if (rule.ratio_min <= 0) return 0;
  if (const auto fleet = baseline.find(kind); fleet != baseline.end()) return fleet->second.value;
  const auto peers = own.find(kind);
  if (!rule.among_peers || peers == own.end() || peers->second.size() < 2) return 0;
  return Typical(peers->second, rule.more_is_better);
}

std::string TextOf(const Rule& rule, const Verdict& verdict) {
  const Reading& reading = verdict.reading;
  const std::string where = reading.part + " " + reading.what + " " + reading.device + ": ";
  const std::string note = reading.note.empty() ? "" : "; " + reading.note;
  if (!reading.wrong.empty()) return where + reading.wrong + note;
  const std::string value = Shown(reading.value) + " " + std::string(rule.unit);
  if (verdict.ratio <= 0) return where + value + note;
  const std::string compared =
      Shown(verdict.ratio) + " of the expected " + Shown(verdict.expected) + " " + std::string(rule.unit);
  if (verdict.ok) return where + value + ", " + compared + note;
  return where + "too slow: " + value + ", " + compared + ", at least " + Shown(rule.ratio_min) + " is wanted" + note;
}

}  // namespace

double Typical(std::vector<double> values, bool more_is_better) {
  GLIM_CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  if (!more_is_better) std::reverse(values.begin(), values.end());
  return values[values.size() / 2];  // from the worst to the best
}

std::string Shown(double value) {
  if (value >= 100) return std::to_string(static_cast<std::int64_t>(value + 0.5));
  const auto hundredths = static_cast<std::int64_t>(value * 100 + 0.5);
  const std::int64_t rest = hundredths % 100;
  return std::to_string(hundredths / 100) + (rest < 10 ? ".0" : ".") + std::to_string(rest);
}

std::vector<Verdict> Judge(const std::vector<Reading>& readings, const Baseline& baseline) {
  const std::map<Kind, std::vector<double>> own = ByKind(readings);
  std::vector<Verdict> verdicts;
  for (const Reading& reading : readings) {
    const Rule* const rule = RuleOf(reading.part, reading.what);
    if (rule == nullptr) continue;
    Verdict verdict{.reading = reading, .unit = std::string(rule->unit), .text = {}};
    if (reading.wrong.empty()) {
      verdict.expected = ExpectedOf(*rule, KindOf(reading), baseline, own);
      if (verdict.expected > 0 && reading.value > 0) {
        verdict.ratio = rule->more_is_better ? reading.value / verdict.expected : verdict.expected / reading.value;
      }
      verdict.ok = verdict.ratio <= 0 || verdict.ratio >= rule->ratio_min;
    } else {
      verdict.ok = false;
    }
    verdict.text = TextOf(*rule, verdict);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool AllOk(const std::vector<Verdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) { return verdict.ok; });
}

bool SlowOnly(const Verdict& verdict) { return !verdict.ok && verdict.reading.wrong.empty(); }

std::vector<Reading> BetterOf(const std::vector<Reading>& first, const std::vector<Reading>& again) {
  std::vector<Reading> better = first;
  for (Reading& reading : better) {
    const Rule* const rule = RuleOf(reading.part, reading.what);
    const auto other = std::find_if(again.begin(), again.end(), [&](const Reading& candidate) {
      return KindOf(candidate) == KindOf(reading) && candidate.device == reading.device;
    });
    if (rule == nullptr || other == again.end() || !reading.wrong.empty()) continue;
    const bool wins = rule->more_is_better ? other->value > reading.value : other->value < reading.value;
    if (!other->wrong.empty() || wins) reading = *other;
  }
  return better;
}

Baseline Merge(const std::vector<std::vector<Reading>>& nodes) {
  std::map<Kind, std::vector<double>> typical;
  for (const std::vector<Reading>& readings : nodes) {
    for (auto& [kind, values] : ByKind(readings)) {
      const Rule* const rule = RuleOf(kind.first, kind.second);
      if (rule != nullptr) typical[kind].push_back(Typical(values, rule->more_is_better));
    }
  }
  Baseline baseline;
  for (auto& [kind, values] : typical) {
    const auto nodes_of = static_cast<std::uint32_t>(values.size());
    baseline[kind] = {Typical(values, RuleOf(kind.first, kind.second)->more_is_better), nodes_of};
  }
  return baseline;
}

}  // namespace glim::validate
