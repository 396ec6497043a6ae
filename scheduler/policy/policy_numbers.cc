#include "scheduler/policy/policy_numbers.h"

#include <filesystem>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "scheduler/core/model/policy_keys.h"
#include "scheduler/policy/policy_durations.h"
#include "scheduler/policy/policy_notify.h"
#include "scheduler/policy/policy_price.h"
#include "scheduler/policy/policy_retention.h"
#include "scheduler/policy/policy_task_users.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/size_text.h"

namespace glim::server {
namespace {

using core::Policy;
using core::PolicyKey;
using core::PolicyPart;
using core::PolicyUnit;

constexpr std::size_t kFolderBytesMax = 1024;

// Empty, or a folder's absolute path with one spelling: jobs' checkpoint folders are named below it.
yaml::Field IntoFolder(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    const bool plain = text.empty() || (text[0] == '/' && text.size() > 1 && text.size() <= kFolderBytesMax &&
                                        std::filesystem::path(text).lexically_normal() == text && text.back() != '/');
    if (!value.IsScalar() || !plain) {
      return yaml::RefuseAt(value, path, "'" + Printable(text) + "' is no folder's absolute path",
                            "write it from / on, without '.', '..' or a '/' at its end: /shared/glim");
    }
    *out = text;
    return Status::Ok();
  };
}

template <typename T>
PolicyNumber Amount(const PolicyKey& key, T Policy::*member) {
  const std::int64_t low = key.low, high = key.high;
  if constexpr (std::is_same_v<T, bool>) {
    return {key.name, [=](Policy* p) { return yaml::IntoBool(&(p->*member)); },
            [=](const Policy& p) { return std::string(p.*member ? "true" : "false"); }};
  } else if constexpr (std::is_same_v<T, Duration>) {
    return {key.name, [=](Policy* p) { return yaml::IntoDuration(&(p->*member), Duration{low}, Duration{high}); },
            [=](const Policy& p) { return WriteDuration(p.*member); }};
  } else if constexpr (std::is_same_v<T, core::ClassDurations>) {
    return {key.name, [=](Policy* p) { return IntoClassDurations(&(p->*member), Duration{low}, Duration{high}); },
            [=](const Policy& p) { return ClassDurationsYaml(p.*member); }};
  } else if constexpr (std::is_same_v<T, std::map<std::string, Duration>>) {
    return {key.name, [=](Policy* p) { return IntoPoolDurations(&(p->*member), Duration{low}, Duration{high}); },
            [=](const Policy& p) { return PoolDurationsYaml(p.*member); }};
  } else if constexpr (std::is_same_v<T, std::string>) {  // in quotes, so that an empty one is seen
    return {key.name, [=](Policy* p) { return IntoFolder(&(p->*member)); },
            [=](const Policy& p) { return "\"" + p.*member + "\""; }};
  } else {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (key.unit == PolicyUnit::kPermille) {
        return {key.name, [=](Policy* p) { return yaml::IntoPermille(&(p->*member), low, high); },
                [=](const Policy& p) { return yaml::PermilleText(p.*member); }};
      }
      if (key.unit == PolicyUnit::kBytes) {
        return {key.name, [=](Policy* p) { return yaml::IntoSize(&(p->*member), low, high); },
                [=](const Policy& p) { return WriteSize(p.*member); }};
      }
    }
    return {key.name, [=](Policy* p) { return yaml::IntoNumber(&(p->*member), low, high); },
            [=](const Policy& p) { return std::to_string(p.*member); }};
  }
}

PolicyNumber NumberOf(const PolicyKey& key) {
  return std::visit([&](auto member) { return Amount(key, member); }, key.member);
}

std::string TextOf(const PolicyKey& key, const Policy& policy) { return NumberOf(key).text(policy); }

// The keys that are structures, each at the end of its section.
std::vector<PolicyNumber> StructuresOf(PolicyPart part) {
  switch (part) {
    case PolicyPart::kSaves:
      return {{"checkpoint_retention", [](Policy* p) { return IntoSaveRetention(&p->checkpoint_retention); },
               [](const Policy& p) { return SaveRetentionYaml(p.checkpoint_retention); }}};
    case PolicyPart::kUsersOfTasks:
      return {{"task_users", [](Policy* p) { return IntoTaskUsers(&p->task_users); },
               [](const Policy& p) { return TaskUsersYaml(p.task_users); }}};
    case PolicyPart::kReports:
      return {{"price", [](Policy* p) { return IntoPrice(&p->price); },
               [](const Policy& p) { return PriceYaml(p.price); }}};
    case PolicyPart::kNotifications:
      return {{"notify", [](Policy* p) { return IntoNotify(&p->notify); },
               [](const Policy& p) { return NotifyYaml(p.notify); }}};
    default: return {};
  }
}

constexpr std::pair<PolicyPart, const char*> kTitles[] = {
    {PolicyPart::kSlicing, "Time slicing inside a class"},
    {PolicyPart::kCrossZone, "Cross-zone allocations"},
    {PolicyPart::kInterrupts, "Interrupts and starts"},
    {PolicyPart::kSaves, "Saves"},
    {PolicyPart::kLogs, "Logs"},
    {PolicyPart::kNodes, "Nodes"},
    {PolicyPart::kUsersOfTasks, "Users of tasks"},
    {PolicyPart::kReports, "Reports"},
    {PolicyPart::kNotifications, "Notifications"},
    {PolicyPart::kBounds, "Bounds"},
};

}  // namespace

std::vector<PolicySection> PolicySections() {
  std::vector<PolicySection> sections;
  for (const auto& [part, title] : kTitles) {
    PolicySection& section = sections.emplace_back(PolicySection{title, {}});
    for (const PolicyKey& key : core::PolicyKeys()) {
      if (key.part == part) section.numbers.push_back(NumberOf(key));
    }
    for (PolicyNumber& structure : StructuresOf(part)) section.numbers.push_back(std::move(structure));
  }
  return sections;
}

PolicyFault FindPolicyFault(const Policy& p) {
  std::map<std::string_view, const PolicyKey*> by_name;
  for (const PolicyKey& key : core::PolicyKeys()) by_name[key.name] = &key;
  for (const PolicyKey& key : core::PolicyKeys()) {
    if (key.not_below == nullptr) continue;
    const PolicyKey& other = *by_name.at(key.not_below);
    if (core::AmountOf(key, p) >= core::AmountOf(other, p)) continue;
    std::string message = TextOf(key, p), fix = "raise ";
    message.append(" is less than ").append(other.name).append(", ").append(TextOf(other, p));
    fix.append(key.name).append(" or lower ").append(other.name);
    return {key.name, other.name, std::move(message), std::move(fix)};
  }
  if (p.master_port_last == p.master_port_first) {
    return {"master_port_last", "master_port_first", "is also master_port_first",
            "give at least two ports: an attempt has a pair"};
  }
  return {};
}

}  // namespace glim::server
