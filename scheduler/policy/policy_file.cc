#include "scheduler/policy/policy_file.h"

#include <map>
#include <utility>

#include "scheduler/policy/policy_health.h"
#include "scheduler/policy/policy_links.h"
#include "scheduler/policy/policy_notify.h"
#include "scheduler/policy/policy_numbers.h"
#include "scheduler/policy/policy_quotas.h"

namespace glim::server {
namespace {

constexpr std::size_t kWordsMax = 900;

yaml::Fields FieldsOf(PolicyFile* file) {
  yaml::Fields fields = {
      {"pools", [=](const yaml::Node& v, const std::string& at) { return ReadNameList(v, at, &file->names.pools); }},
      {"zones", [=](const yaml::Node& v, const std::string& at) { return ReadNameList(v, at, &file->names.zones); }},
      {"health", IntoHealth(&file->policy.health)},
      {"quotas",
       [=](const yaml::Node& v, const std::string& at) { return ReadQuotas(v, at, &file->policy, &file->names); }},
      {"links",
       [=](const yaml::Node& v, const std::string& at) { return ReadLinks(v, at, &file->policy, &file->names); }}};
  for (const PolicySection& section : PolicySections()) {
    for (const PolicyNumber& number : section.numbers) fields[number.key] = number.into(&file->policy);
  }
  return fields;
}

// Where the key stands; if it does not, the other of the two is what made it wrong.
yaml::Mark Culprit(const yaml::Node& map, const PolicyFault& fault) {
  const yaml::Entry* found = map.Find(fault.key);
  if (found == nullptr) found = map.Find(fault.other);
  return found == nullptr ? map.mark : found->mark;
}

std::map<std::string, std::string> Flatten(const PolicyFile& file) {
  std::map<std::string, std::string> out;
  for (const PolicySection& section : PolicySections()) {
    for (const PolicyNumber& number : section.numbers) out[number.key] = number.text(file.policy);
  }
  FlattenHealth(file.policy.health, &out);
  FlattenNames(file.names, &out);
  FlattenQuotas(file.policy, &out);
  FlattenLinks(file.policy, &out);
  return out;
}

PolicyFile WithShortUrls(PolicyFile file) {
  for (auto& [name, webhook] : file.policy.notify.webhooks) webhook.url = ShortUrl(webhook.url);
  return file;
}

}  // namespace

Status ReadPolicyMap(const yaml::Node& value, const std::string& path, PolicyFile* out) {
  PolicyFile file = *out;
  if (Status s = yaml::ReadMap(value, path, FieldsOf(&file)); !s.ok()) return s;
  if (const PolicyFault fault = FindPolicyFault(file.policy); !fault.key.empty()) {
    return yaml::RefuseAt(Culprit(value, fault), yaml::JoinPath(path, fault.key), fault.message, fault.fix);
  }
  *out = std::move(file);
  return Status::Ok();
}

Result<PolicyFile> ReadPolicyText(const std::string& text, const std::string& source, const PolicyFile& base) {
  const auto root = yaml::ParseOne(text, {source, "BAD_CONFIG"});
  if (!root.ok()) return root.status();
  PolicyFile file = base;
  if (Status s = ReadPolicyMap(**root, "", &file); !s.ok()) return yaml::InSource(source, s);
  return file;
}

Result<PolicyFile> ReadPolicyFile(const std::string& path, const PolicyFile& base) {
  const auto text = yaml::ReadTextFile(path, "--policy");
  if (!text.ok()) return text.status();
  return ReadPolicyText(*text, path, base);
}

Status CheckPolicy(const core::Policy& policy) {
  const PolicyFault fault = FindPolicyFault(policy);
  if (fault.key.empty()) return Status::Ok();
  return Status(StatusCode::kInvalidArgument, "policy." + fault.key + ": " + fault.message)
      .WithReason("BAD_CONFIG")
      .WithField("policy." + fault.key)
      .WithFix(fault.fix);
}

std::string PolicyYaml(const PolicyFile& file) {
  std::string text;
  for (const PolicySection& section : PolicySections()) {
    text += std::string("# ") + section.title + "\n";
    for (const PolicyNumber& number : section.numbers) {
      text += std::string(number.key) + ": " + number.text(file.policy) + "\n";
    }
  }
  text +=
      "# Hardware health: of the rows for one finding the strongest verdict counts\n" + HealthYaml(file.policy.health);
  const std::string rest = NamesYaml(file.names) + QuotasYaml(file.policy) + LinksYaml(file.policy);
  return rest.empty() ? text : text + "# Pools and zones, quotas, links\n" + rest;
}

std::string PolicyYamlForAll(const PolicyFile& file) {
  const std::string note = file.policy.notify.webhooks.empty() ? "" : "# Operators alone see the URLs as they are\n";
  return note + PolicyYaml(WithShortUrls(file));
}

std::vector<PolicyChange> DiffPolicies(const PolicyFile& before, const PolicyFile& after) {
  const auto old = Flatten(before);
  const auto now = Flatten(after);
  const auto shown_old = Flatten(WithShortUrls(before)), shown_now = Flatten(WithShortUrls(after));
  std::map<std::string, PolicyChange> changes;
  for (const auto& [field, text] : old) changes[field] = {field, text, ""};
  for (const auto& [field, text] : now) {
    changes[field].field = field;
    changes[field].after = text;
  }
  std::vector<PolicyChange> out;
  for (auto& [field, change] : changes) {
    if (change.before == change.after) continue;
    if (const auto was = shown_old.find(field); was != shown_old.end()) change.before = was->second;
    if (const auto is = shown_now.find(field); is != shown_now.end()) change.after = is->second;
    if (change.before == change.after) change.after += " (with another URL)";
    out.push_back(std::move(change));
  }
  return out;
}

std::string ChangesInWords(const std::vector<PolicyChange>& changes) {
  std::string words;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const PolicyChange& c = changes[i];
    std::string word = c.field;
    if (c.before.empty()) {
      word += " added: " + c.after;
    } else {
      word += c.after.empty() ? " removed, was " + c.before : " " + c.before + " -> " + c.after;
    }
    if (words.size() + word.size() > kWordsMax) {
      return words + (words.empty() ? "" : ", ") + "and " + std::to_string(changes.size() - i) + " more";
    }
    words += (words.empty() ? "" : ", ") + word;
  }
  return words.empty() ? "nothing" : words;
}

}  // namespace glim::server
