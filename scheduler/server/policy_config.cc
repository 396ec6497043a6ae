#include "scheduler/server/policy_config.h"

#include <string>
#include <utility>

namespace glim::server {
namespace {

constexpr std::int64_t kCountMax = 10'000'000;

Status Refuse(const std::string& path, const std::string& message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, path + ": " + message)
      .WithReason("BAD_CONFIG").WithField(path).WithFix(std::move(fix));
}

// {normal: 8, high: 2}: nodes at a time by class; a class that is not named is unlimited.
Status ReadQuota(const YAML::Node& value, const std::string& path, core::Quota* quota) {
  if (!value.IsMap()) return Refuse(path, "must be a mapping of classes to nodes", "write it like {high: 4}");
  quota->nodes.clear();
  for (const auto& pair : value) {
    const std::string word = pair.first.IsScalar() ? pair.first.Scalar() : "";
    const std::string at = path + "." + word;
    auto priority = core::ParsePriority(word);
    if (!priority.ok()) return Refuse(at, priority.status().message(), priority.status().fix());
    if (*priority == core::PriorityClass::kAuto) return Refuse(at, "auto has no quota of its own", "name a class");
    auto nodes = ParseYamlNumber(pair.second, at, 0, kCountMax);
    if (!nodes.ok()) return nodes.status();
    quota->nodes[*priority] = static_cast<std::uint32_t>(*nodes);
  }
  return Status::Ok();
}

Status ReadUserQuotas(const YAML::Node& value, const std::string& path, std::map<std::string, core::Quota>* quotas) {
  if (!value.IsMap()) return Refuse(path, "must be a mapping of users to quotas", "write it like {kim: {high: 4}}");
  quotas->clear();
  for (const auto& pair : value) {
    const std::string user = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (user.empty() || user.size() > 64) {
      return Refuse(path, "a user's name is empty or too long", "use 1 to 64 characters");
    }
    if (Status s = ReadQuota(pair.second, path + "." + user, &(*quotas)[user]); !s.ok()) return s;
  }
  return Status::Ok();
}

Status ReadLinks(const YAML::Node& value, const std::string& path, std::vector<core::ZoneLink>* links) {
  if (!value.IsSequence()) return Refuse(path, "must be a list", "write it like [{zone_a: A, zone_b: B}]");
  links->clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    core::ZoneLink link;
    const YamlFields fields = {{"zone_a", IntoText(&link.zone_a)},
                               {"zone_b", IntoText(&link.zone_b)},
                               {"jobs_max", IntoNumber(&link.jobs_max, 0, 1000)},
                               {"pairs_max", IntoNumber(&link.pairs_max, 0, 1000)}};
    if (Status s = ReadYamlMap(value[i], at, fields); !s.ok()) return s;
    if (link.zone_a.empty() || link.zone_b.empty() || link.zone_a == link.zone_b) {
      return Refuse(at, "must name two different zones", "give zone_a and zone_b");
    }
    links->push_back(std::move(link));
  }
  return Status::Ok();
}

}  // namespace

YamlFields PolicyFields(core::Policy* p) {
  const Duration day = Hours(24);
  return {
      {"default_user_quota",
       [p](const YAML::Node& v, const std::string& path) { return ReadQuota(v, path, &p->default_user_quota); }},
      {"user_quota",
       [p](const YAML::Node& v, const std::string& path) { return ReadUserQuotas(v, path, &p->user_quota); }},
      {"links", [p](const YAML::Node& v, const std::string& path) { return ReadLinks(v, path, &p->links); }},
      {"crossing_nodes_min", IntoNumber(&p->crossing_nodes_min, 2, kCountMax)},
      {"agree_max", IntoDuration(&p->agree_max, Milliseconds(100), day)},
      {"min_run_factor", IntoNumber(&p->min_run_factor, 0, 1'000'000)},
      {"default_save_cost", IntoDuration(&p->default_save_cost, {}, day)},
      {"default_restore_cost", IntoDuration(&p->default_restore_cost, {}, day)},
      {"median_checkpoint_interval", IntoDuration(&p->median_checkpoint_interval, Milliseconds(1), day)},
      {"kill_after_term", IntoDuration(&p->kill_after_term, {}, day)},
      {"release_max", IntoDuration(&p->release_max, Milliseconds(100), day)},
      {"start_max", IntoDuration(&p->start_max, Milliseconds(100), day)},
      {"start_failures_max", IntoNumber(&p->start_failures_max, 1, 1000)},
      {"start_backoff", IntoDuration(&p->start_backoff, {}, day)},
      {"node_lost_after", IntoDuration(&p->node_lost_after, Milliseconds(200), day)},
      {"oversleep_max", IntoDuration(&p->oversleep_max, Milliseconds(100), day)},
      {"outage_percent", IntoNumber(&p->outage_percent, 1, 100)},
      {"unfinished_jobs_max", IntoNumber(&p->unfinished_jobs_max, 1, kCountMax)},
      {"unfinished_jobs_per_user_max", IntoNumber(&p->unfinished_jobs_per_user_max, 1, kCountMax)},
      {"finished_jobs_kept", IntoNumber(&p->finished_jobs_kept, 0, kCountMax)},
      {"reserve_after", IntoDuration(&p->reserve_after, {}, day * 30)},
      {"master_port_first", IntoNumber(&p->master_port_first, 1024, 65'535)},
      {"master_port_last", IntoNumber(&p->master_port_last, 1024, 65'535)},
  };
}

Status CheckPolicy(const core::Policy& policy) {
  if (policy.master_port_last < policy.master_port_first) {
    return Refuse("policy.master_port_last", "is less than master_port_first", "raise it");
  }
  return Status::Ok();
}

}  // namespace glim::server
