#include "scheduler/policy/policy_links.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace glim::server {
namespace {

constexpr std::int64_t kLinksMax = 10'000;
constexpr std::int64_t kAmountMax = 1000;

yaml::Field IntoZone(std::string* zone, PolicyNames* names) {
  return [=](const yaml::Node& value, const std::string& path) {
    if (Status s = yaml::IntoName(zone)(value, path); !s.ok()) return s;
    Mention(/*zone=*/true, *zone, value.mark, path, names);
    return Status::Ok();
  };
}

std::pair<std::string, std::string> Ends(const core::ZoneLink& link) { return std::minmax(link.zone_a, link.zone_b); }

}  // namespace

Status ReadLinks(const yaml::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names) {
  if (!value.IsSequence())
    return yaml::RefuseAt(value, path, "must be a list", "write it like [{zone_a: A, zone_b: B}]");
  if (value.items.size() > kLinksMax) return yaml::RefuseAt(value, path, "is too long", "give at most 10000 links");
  std::vector<core::ZoneLink> links;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const yaml::Node& row = *value.items[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    core::ZoneLink link;
    const yaml::Fields fields = {{"zone_a", IntoZone(&link.zone_a, names)},
                                 {"zone_b", IntoZone(&link.zone_b, names)},
                                 {"jobs_max", yaml::IntoNumber(&link.jobs_max, 0, kAmountMax)},
                                 {"pairs_max", yaml::IntoNumber(&link.pairs_max, 0, kAmountMax)}};
    if (Status s = yaml::ReadMap(row, at, fields); !s.ok()) return s;
    if (link.zone_a.empty() || link.zone_b.empty()) {
      return yaml::RefuseAt(row, at, "does not name two zones", "give zone_a and zone_b");
    }
    if (link.zone_a == link.zone_b) {
      return yaml::RefuseAt(row, at, "joins zone " + link.zone_a + " with itself", "name two different zones");
    }
    if (!seen.insert(Ends(link)).second) {
      return yaml::RefuseAt(row, at, "zones " + link.zone_a + " and " + link.zone_b + " have a link already",
                            "give each two zones one link, with its jobs_max and pairs_max");
    }
    links.push_back(std::move(link));
  }
  policy->links = std::move(links);
  return Status::Ok();
}

std::string LinksYaml(const core::Policy& policy) {
  if (policy.links.empty()) return "";
  std::string text = "links:\n";
  for (const core::ZoneLink& link : policy.links) {
    text += "  - {zone_a: " + YamlName(link.zone_a) + ", zone_b: " + YamlName(link.zone_b) +
            ", jobs_max: " + std::to_string(link.jobs_max) + ", pairs_max: " + std::to_string(link.pairs_max) + "}\n";
  }
  return text;
}

void FlattenLinks(const core::Policy& policy, std::map<std::string, std::string>* out) {
  for (const core::ZoneLink& link : policy.links) {
    const auto [a, b] = Ends(link);
    const std::string path = "links." + a + "-" + b;
    (*out)[path + ".jobs_max"] = std::to_string(link.jobs_max);
    (*out)[path + ".pairs_max"] = std::to_string(link.pairs_max);
  }
}

}  // namespace glim::server
