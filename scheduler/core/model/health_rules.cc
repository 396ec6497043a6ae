#include "scheduler/core/model/health_rules.h"

#include <algorithm>
#include <set>

#include "sdk/base/printable.h"

namespace glim::core {
namespace {

constexpr Duration kWeek = Hours(24 * 7);
constexpr std::size_t kShownCharsMax = 200;

bool Names(const HealthRule& rule, std::int64_t code) {
  return std::find(rule.codes.begin(), rule.codes.end(), code) != rule.codes.end();
}

void AddRules(const std::vector<HealthRule>& rules, const std::string& check, std::int64_t code, bool named,
              std::vector<const HealthRule*>& out) {
  for (const HealthRule& rule : rules) {
    if (rule.check == check && (named ? Names(rule, code) : rule.codes.empty())) out.push_back(&rule);
  }
}

bool HasApplied(const HealthRule& rule, const HealthEvent& event) {
  return rule.verdict != HealthVerdict::kRecorded && StrengthOf(event.verdict) >= StrengthOf(rule.verdict);
}

// Findings on the same device that the row counts, the newest included.
struct FindingsCounted {
  std::uint64_t times = 1;
  std::set<std::string> users;
};

FindingsCounted Count(const HealthRule& rule, const std::vector<HealthEvent>& earlier, const HealthEvent& event) {
  FindingsCounted counted;
  if (!event.user.empty()) counted.users.insert(event.user);
  for (auto it = earlier.rbegin(); it != earlier.rend(); ++it) {
    if (it->check != event.check || it->device != event.device) continue;
    if (!rule.codes.empty() && !Names(rule, it->code)) continue;
    if (it->at + rule.within < event.at || HasApplied(rule, *it)) break;
    counted.times += 1 + std::uint64_t{it->more};
    if (!it->user.empty()) counted.users.insert(it->user);
  }
  return counted;
}

bool Applies(const HealthRule& rule, const std::vector<HealthEvent>& earlier, const HealthEvent& event) {
  if (rule.times <= 1 && rule.users <= 1) return true;
  const FindingsCounted counted = Count(rule, earlier, event);
  return counted.times >= rule.times && (rule.users <= 1 || counted.users.size() >= rule.users);
}

// Others leave who is there alone: what they name is for a rank that fails by itself soon afterwards.
bool EndsAtOnce(HealthVerdict verdict) {
  return verdict == HealthVerdict::kRestarted || verdict == HealthVerdict::kDrained || verdict == HealthVerdict::kOut;
}

template <typename Finding>
std::string InWords(const Finding& found, const std::string& what) {
  std::string text = what;
  if (!found.device.empty()) text += " of " + EscapedStart(found.device, kShownCharsMax);
  if (!found.text.empty()) text += ": " + EscapedStart(found.text, kShownCharsMax);
  if (found.unit.empty()) return text;
  const std::string unit = " " + EscapedStart(found.unit, kShownCharsMax);
  return text + ": " + std::to_string(found.value) + unit +
         (found.expected == 0 ? "" : ", " + std::to_string(found.expected) + unit + " expected");
}

}  // namespace

const HealthCheck* FindHealthCheck(std::string_view name) {
  const auto* found = std::find_if(std::begin(kHealthChecks), std::end(kHealthChecks),
                                   [&](const HealthCheck& check) { return check.name == name; });
  return found == std::end(kHealthChecks) ? nullptr : found;
}

const std::vector<HealthRule>& DefaultHealthRules() {
  using enum HealthVerdict;
  using enum Outcome;
  static const std::vector<HealthRule> kRules = {
      {.check = "xid", .codes = {13, 31, 43, 45}, .verdict = kJobsFault},
      {.check = "xid",
       .codes = {13, 31, 43, 45},
       .verdict = kDrained,
       .times = 3,
       .users = 3,
       .within = kWeek,
       .repair = "validate the GPU: programs of several users failed on it"},
      {.check = "xid", .codes = {74}, .verdict = kRestarted, .ends = kGpuFailure},
      {.check = "xid", .codes = {74}, .verdict = kDrained, .times = 3, .repair = "stress the NVLink bridge"},
      {.check = "xid", .codes = {63, 64, 94, 95}, .verdict = kDrained, .ends = kGpuFailure, .repair = "reset the GPU"},
      {.check = "xid",
       .codes = {44, 48, 61, 62, 69, 79},
       .verdict = kOut,
       .ends = kGpuFailure,
       .repair = "reboot the node"},
      {.check = "xid",
       .codes = {119},
       .verdict = kOut,
       .ends = kGpuFailure,
       .repair = "field diagnosis: most are replaced"},
      {.check = "xid"},
      {.check = "sxid_fatal",
       .verdict = kDrained,
       .ends = kGpuFailure,
       .repair = "reset the GPUs and the NVSwitches, or reboot the node"},
      {.check = "link_flash", .ends = kNetwork},
      {.check = "link_flash",
       .verdict = kDrained,
       .times = 3,
       .within = kWeek,
       .repair = "look after the cable and the port"},
      {.check = "memory_ecc_uncorrected", .verdict = kOut, .ends = kNodeFailure, .repair = "replace the module"},
      {.check = "memory_ecc_corrected"},
      {.check = "machine_check", .verdict = kOut, .ends = kNodeFailure, .repair = "field diagnosis"},
      {.check = "gpu_ecc_uncorrected", .verdict = kDrained, .ends = kGpuFailure, .repair = "reset the GPU"},
      {.check = "disk_error", .verdict = kDrained, .repair = "look after the disk"},
      {.check = "pcie_slow", .verdict = kDrained, .repair = "reseat the card, then reboot the node"},
      {.check = "nvlink_down", .verdict = kDrained, .repair = "stress the NVLink bridge"},
      {.check = "gpu_row_remap_failed", .verdict = kDrained, .repair = "replace the GPU"},
      {.check = "gpu_lost", .verdict = kOut, .ends = kGpuFailure, .repair = "reboot the node"},
      {.check = "link_down", .verdict = kCordoned, .ends = kNetwork, .repair = "look after the cable and the port"},
      {.check = "link_slow", .verdict = kDrained, .repair = "look after the cable and the port"},
      {.check = "disk_read_only", .verdict = kDrained, .repair = "look after the disk"},
      {.check = "disk_failing", .verdict = kDrained, .repair = "replace the disk"},
  };
  return kRules;
}

std::vector<HealthRule> HealthTable(const HealthPolicy& policy) {
  std::vector<HealthRule> table = policy.rules;
  for (HealthRule rule : DefaultHealthRules()) {
    const bool any = rule.codes.empty();
    std::erase_if(rule.codes, [&](std::int64_t code) {
      return std::any_of(policy.rules.begin(), policy.rules.end(),
                         [&](const HealthRule& own) { return own.check == rule.check && Names(own, code); });
    });
    const bool replaced =
        any ? std::any_of(policy.rules.begin(), policy.rules.end(),
                          [&](const HealthRule& own) { return own.check == rule.check && own.codes.empty(); })
            : rule.codes.empty();
    if (!replaced) table.push_back(std::move(rule));
  }
  return table;
}

std::vector<const HealthRule*> RulesFor(const HealthPolicy& policy, const std::string& check, std::int64_t code) {
  std::vector<const HealthRule*> rules;
  for (const bool named : {true, false}) {
    AddRules(policy.rules, check, code, named, rules);
    if (rules.empty()) AddRules(DefaultHealthRules(), check, code, named, rules);
    if (!rules.empty()) break;
  }
  return rules;
}

int StrengthOf(HealthVerdict verdict) {
  switch (verdict) {
    case HealthVerdict::kRecorded: return 0;
    case HealthVerdict::kJobsFault: return 1;
    case HealthVerdict::kRestarted: return 2;
    case HealthVerdict::kCordoned: return 3;
    case HealthVerdict::kDrained: return 4;
    case HealthVerdict::kOut: return 5;
  }
  return 0;
}

HealthJudgement JudgeHealth(const HealthPolicy& policy, const std::vector<HealthEvent>& earlier,
                            const HealthEvent& event) {
  HealthJudgement judged;
  int ends_by = 0;  // how strong the row is that says how the attempt ends
  for (const HealthRule* rule : RulesFor(policy, event.check, event.code)) {
    if (!Applies(*rule, earlier, event)) continue;
    if (EndsAtOnce(rule->verdict) && rule->ends != Outcome::kNone && StrengthOf(rule->verdict) >= ends_by) {
      judged.ends = rule->ends;
      ends_by = StrengthOf(rule->verdict);
    }
    if (StrengthOf(rule->verdict) < StrengthOf(judged.verdict)) continue;
    judged.verdict = rule->verdict;
    if (!rule->repair.empty()) judged.repair = rule->repair;
  }
  const bool must_end = judged.verdict == HealthVerdict::kRestarted || judged.verdict == HealthVerdict::kOut;
  if (must_end && judged.ends == Outcome::kNone) judged.ends = Outcome::kNodeFailure;
  return judged;
}

Outcome BlamedFor(const HealthPolicy& policy, const std::string& check, std::int64_t code) {
  for (const HealthRule* rule : RulesFor(policy, check, code)) {
    if (rule->ends != Outcome::kNone) return rule->ends;
  }
  return Outcome::kNone;
}

const HealthCondition* KeptAwayBy(const Node& node) {
  for (const HealthCondition& condition : node.health_conditions) {
    if (KeepsJobsAway(condition)) return &condition;
  }
  return nullptr;
}

std::string HealthInWords(const HealthEvent& event) {
  return InWords(event,
                 EscapedStart(event.check, kShownCharsMax) + (event.code == 0 ? "" : " " + std::to_string(event.code)));
}

std::string HealthInWords(const HealthCondition& condition) {
  return InWords(condition, EscapedStart(condition.check, kShownCharsMax));
}

}  // namespace glim::core
