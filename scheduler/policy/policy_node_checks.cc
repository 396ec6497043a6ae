#include "scheduler/policy/policy_node_checks.h"

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "scheduler/policy/policy_baselines.h"
#include "sdk/base/duration_text.h"

namespace glim::server {
namespace {

constexpr Duration kYear = Hours(std::int64_t{24} * 365);
constexpr Duration kMonth = Hours(std::int64_t{24} * 30);
constexpr std::int64_t kTimesMax = core::kNodeFailuresKept;  // more are not remembered
constexpr std::int64_t kLargeNodesMax = 100'000;

using Pairs = std::vector<std::pair<const char*, std::string>>;

const char* WordOf(bool value) { return value ? "true" : "false"; }

struct Group {
  const char* name;
  Pairs pairs;
};

std::vector<Group> GroupsOf(const core::HealthPolicy& health) {
  const core::ValidatePolicy& validate = health.validate;
  const core::LemonPolicy& lemons = health.lemons;
  const core::IdleGpusPolicy& idle = health.idle_gpus;
  return {{"validate",
           {{"on_join", WordOf(validate.on_join)},
            {"after_repair", WordOf(validate.after_repair)},
            {"suspects", WordOf(validate.suspects)},
            {"every", WriteDuration(validate.every)},
            {"full", WordOf(validate.full)},
            {"baselines", BaselinesYaml(validate.baselines)}}},
          {"lemons",
           {{"within", WriteDuration(lemons.within)},
            {"avoid_times", std::to_string(lemons.avoid_times)},
            {"large_nodes", std::to_string(lemons.large_nodes)},
            {"cordon_times", std::to_string(lemons.cordon_times)}}},
          {"idle_gpus",
           {{"warn_after", WriteDuration(idle.warn_after)}, {"suspend_after", WriteDuration(idle.suspend_after)}}}};
}

template <typename Part>
yaml::Field IntoPart(Part* out, yaml::Fields (*fields)(Part* part)) {
  return [out, fields](const yaml::Node& value, const std::string& path) {
    Part read = *out;
    Status status = yaml::ReadMap(value, path, fields(&read));
    if (status.ok()) *out = std::move(read);
    return status;
  };
}

}  // namespace

yaml::Field IntoValidate(core::ValidatePolicy* out) {
  return IntoPart<core::ValidatePolicy>(out, [](core::ValidatePolicy* read) {
    return yaml::Fields{
        {"on_join", yaml::IntoBool(&read->on_join)},   {"after_repair", yaml::IntoBool(&read->after_repair)},
        {"suspects", yaml::IntoBool(&read->suspects)}, {"every", yaml::IntoDuration(&read->every, {}, kYear)},
        {"full", yaml::IntoBool(&read->full)},         {"baselines", IntoBaselines(&read->baselines)}};
  });
}

yaml::Field IntoLemons(core::LemonPolicy* out) {
  return IntoPart<core::LemonPolicy>(out, [](core::LemonPolicy* read) {
    return yaml::Fields{{"within", yaml::IntoDuration(&read->within, Hours(1), kYear)},
                        {"avoid_times", yaml::IntoNumber(&read->avoid_times, 0, kTimesMax)},
                        {"large_nodes", yaml::IntoNumber(&read->large_nodes, 1, kLargeNodesMax)},
                        {"cordon_times", yaml::IntoNumber(&read->cordon_times, 0, kTimesMax)}};
  });
}

yaml::Field IntoIdleGpus(core::IdleGpusPolicy* out) {
  return IntoPart<core::IdleGpusPolicy>(out, [](core::IdleGpusPolicy* read) {
    return yaml::Fields{{"warn_after", yaml::IntoDuration(&read->warn_after, {}, kMonth)},
                        {"suspend_after", yaml::IntoDuration(&read->suspend_after, {}, kMonth)}};
  });
}

std::string NodeChecksYaml(const core::HealthPolicy& health) {
  std::string text;
  for (const Group& group : GroupsOf(health)) {
    text += std::string("  ") + group.name + ":\n";
    for (const auto& [key, value] : group.pairs) text += std::string("    ") + key + ": " + value + "\n";
  }
  return text;
}

void FlattenNodeChecks(const core::HealthPolicy& health, std::map<std::string, std::string>* out) {
  for (const Group& group : GroupsOf(health)) {
    for (const auto& [key, value] : group.pairs) (*out)[std::string("health.") + group.name + "." + key] = value;
  }
}

}  // namespace glim::server
