#include "scheduler/policy/policy_health.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/policy/policy_node_checks.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"
#include "sdk/base/utf8.h"

namespace glim::server {
namespace {

using core::HealthRule;
using core::HealthVerdict;
using core::Outcome;

constexpr std::size_t kRulesMax = 200;
constexpr std::size_t kCodesMax = 64;
constexpr std::int64_t kCodeMax = 100'000;
constexpr std::size_t kRepairBytesMax = 200;
constexpr Duration kHealthDay = Hours(24);
constexpr char kNone[] = "none";

// How an attempt may end by hardware.
constexpr Outcome kEnds[] = {Outcome::kNone, Outcome::kNodeFailure, Outcome::kGpuFailure, Outcome::kNetwork};

const char* WordFor(Outcome ends) { return ends == Outcome::kNone ? kNone : core::ToString(ends); }

Status RefuseWord(const yaml::Node& value, const std::string& path, const std::vector<std::string_view>& words) {
  const std::string word = value.IsScalar() ? value.scalar : "";
  std::string all;
  for (const std::string_view one : words) all += (all.empty() ? "" : ", ") + std::string(one);
  const std::string near = Nearest(word, words);
  return yaml::RefuseAt(value, path, "'" + Printable(word) + "' is none of: " + all,
                        near.empty() ? "write one of these" : "did you mean '" + near + "'?");
}

yaml::Field IntoCheck(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (value.IsScalar() && core::FindHealthCheck(value.scalar)) {
      *out = value.scalar;
      return Status::Ok();
    }
    std::vector<std::string_view> names;
    for (const core::HealthCheck& check : core::kHealthChecks) names.push_back(check.name);
    return RefuseWord(value, path, names);
  };
}

yaml::Field IntoVerdict(HealthVerdict* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    std::vector<std::string_view> words;
    for (const auto& one : core::kEnumWords<HealthVerdict>) words.emplace_back(one.word);
    const auto verdict = value.IsScalar() ? core::FromWord<HealthVerdict>(value.scalar) : std::nullopt;
    if (!verdict) return RefuseWord(value, path, words);
    *out = *verdict;
    return Status::Ok();
  };
}

yaml::Field IntoEnds(Outcome* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    std::vector<std::string_view> words;
    for (const Outcome ends : kEnds) {
      words.emplace_back(WordFor(ends));
      if (!value.IsScalar() || value.scalar != WordFor(ends)) continue;
      *out = ends;
      return Status::Ok();
    }
    return RefuseWord(value, path, words);
  };
}

yaml::Field IntoCodes(std::vector<std::int64_t>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsSequence() || value.items.size() > kCodesMax) {
      return yaml::RefuseAt(value, path, "must be a list of at most 64 numbers", "write it like [63, 64]");
    }
    std::vector<std::int64_t> codes;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      const auto code = yaml::ReadNumber(*value.items[i], at, 1, kCodeMax);
      if (!code.ok()) return code.status();
      if (std::find(codes.begin(), codes.end(), *code) != codes.end()) {
        return yaml::RefuseAt(*value.items[i], at, std::to_string(*code) + " is given twice", "keep one");
      }
      codes.push_back(*code);
    }
    *out = std::move(codes);
    return Status::Ok();
  };
}

yaml::Field IntoRepair(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    if (!value.IsScalar() || text.size() > kRepairBytesMax || !IsUtf8(text) || HasControl(text)) {
      return yaml::RefuseAt(value, path, "is no line of at most 200 bytes", "say in a few words what is to be done");
    }
    *out = text;
    return Status::Ok();
  };
}

// What the parts of a row must be to each other.
Status CheckRule(const yaml::Node& row, const std::string& at, const HealthRule& rule) {
  const auto refuse = [&](const char* key, const char* message, const char* fix) {
    const yaml::Entry* entry = row.Find(key);
    return yaml::RefuseAt(entry ? entry->mark : row.mark, yaml::JoinPath(at, key), message, fix);
  };
  if (rule.check.empty()) return refuse("check", "is missing", "name the check that the row is about");
  const core::HealthCheck& check = *core::FindHealthCheck(rule.check);
  if (!rule.codes.empty() && check.name != core::kXidCheck) {
    return refuse("codes", "only check xid has codes", "leave it out: the row is about all that the check finds");
  }
  if (check.condition && rule.times > 1) {
    return refuse("times", "a condition is so or is not: it has no times", "leave it out");
  }
  if (rule.users > 1 && check.condition) return refuse("users", "a condition is nobody's", "leave it out");
  return Status::Ok();
}

Status ReadRule(const yaml::Node& row, const std::string& at, HealthRule* out) {
  HealthRule rule;
  Status s = yaml::ReadMap(row, at,
                           {{"check", IntoCheck(&rule.check)},
                            {"codes", IntoCodes(&rule.codes)},
                            {"verdict", IntoVerdict(&rule.verdict)},
                            {"ends", IntoEnds(&rule.ends)},
                            {"times", yaml::IntoNumber(&rule.times, 1, 1000)},
                            {"users", yaml::IntoNumber(&rule.users, 1, 16)},
                            {"within", yaml::IntoDuration(&rule.within, Seconds(1), kHealthDay * 30)},
                            {"repair", IntoRepair(&rule.repair)}});
  if (s.ok()) s = CheckRule(row, at, rule);
  if (s.ok()) *out = std::move(rule);
  return s;
}

yaml::Field IntoRules(std::vector<HealthRule>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsSequence() || value.items.size() > kRulesMax) {
      return yaml::RefuseAt(value, path, "must be a list of at most 200 rows",
                            "write it like [{check: xid, codes: [79], verdict: out, ends: gpu_failure}]");
    }
    std::vector<HealthRule> rules(value.items.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (Status s = ReadRule(*value.items[i], path + "[" + std::to_string(i) + "]", &rules[i]); !s.ok()) return s;
    }
    *out = std::move(rules);
    return Status::Ok();
  };
}

std::string CodesText(const std::vector<std::int64_t>& codes) {
  std::string text;
  for (const std::int64_t code : codes) text += (text.empty() ? "" : ", ") + std::to_string(code);
  return text;
}

std::string QuotedWords(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

// What a row says beside its check and codes; what it leaves out is not written.
std::string RestYaml(const HealthRule& rule) {
  const HealthRule plain;
  std::string text = std::string("verdict: ") + core::ToString(rule.verdict);
  if (rule.ends != plain.ends) text += std::string(", ends: ") + WordFor(rule.ends);
  if (rule.times != plain.times) text += ", times: " + std::to_string(rule.times);
  if (rule.users != plain.users) text += ", users: " + std::to_string(rule.users);
  if (rule.within != plain.within) text += ", within: " + WriteDuration(rule.within);
  if (!rule.repair.empty()) text += ", repair: " + QuotedWords(rule.repair);
  return text;
}

}  // namespace

yaml::Field IntoHealth(core::HealthPolicy* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    core::HealthPolicy read = *out;
    Status s =
        yaml::ReadMap(value, path,
                      {{"blame_window", yaml::IntoDuration(&read.blame_window, {}, kHealthDay)},
                       {"no_progress_min", yaml::IntoDuration(&read.no_progress_min, Seconds(1), kHealthDay * 30)},
                       {"no_progress_gaps", yaml::IntoNumber(&read.no_progress_gaps, 1, 1'000'000)},
                       {"rules", IntoRules(&read.rules)},
                       {"validate", IntoValidate(&read.validate)},
                       {"lemons", IntoLemons(&read.lemons)},
                       {"idle_gpus", IntoIdleGpus(&read.idle_gpus)}});
    if (s.ok()) *out = std::move(read);
    return s;
  };
}

std::string HealthYaml(const core::HealthPolicy& health) {
  std::string text = "health:\n  blame_window: " + WriteDuration(health.blame_window) +
                     "\n  no_progress_min: " + WriteDuration(health.no_progress_min) +
                     "\n  no_progress_gaps: " + std::to_string(health.no_progress_gaps) + "\n" +
                     NodeChecksYaml(health) + "  rules:\n";
  for (const HealthRule& rule : core::HealthTable(health)) {
    text += "    - {check: " + rule.check;
    if (!rule.codes.empty()) text += ", codes: [" + CodesText(rule.codes) + "]";
    text += ", " + RestYaml(rule) + "}\n";
  }
  return text;
}

void FlattenHealth(const core::HealthPolicy& health, std::map<std::string, std::string>* out) {
  (*out)["health.blame_window"] = WriteDuration(health.blame_window);
  (*out)["health.no_progress_min"] = WriteDuration(health.no_progress_min);
  (*out)["health.no_progress_gaps"] = std::to_string(health.no_progress_gaps);
  FlattenNodeChecks(health, out);
  const auto add = [out](const std::string& field, const HealthRule& rule) {
    std::string& text = (*out)["health.rules." + field];
    text += (text.empty() ? "{" : ", {") + RestYaml(rule) + "}";
  };
  for (const HealthRule& rule : core::HealthTable(health)) {
    if (rule.codes.empty()) add(rule.check, rule);
    for (const std::int64_t code : rule.codes) add(rule.check + "." + std::to_string(code), rule);
  }
}

}  // namespace glim::server
