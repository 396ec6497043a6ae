#include "scheduler/server/convert/layout_convert.h"

#include <map>
#include <string>
#include <utility>

#include "scheduler/server/convert/account_convert.h"

namespace glim::server {
namespace {

struct Known {
  std::string note;
  bool has_row = false;
  std::uint32_t nodes = 0;
};
using ByName = std::map<std::string, Known>;

template <typename Rows>
void AddRows(const Rows& rows, ByName* names) {
  for (const auto& [name, row] : rows) {
    (*names)[name].note = row.note;
    (*names)[name].has_row = true;
  }
}

template <typename Add>
void Write(const ByName& names, Add add) {
  for (const auto& [name, known] : names) {
    auto* const row = add();
    row->set_name(name);
    row->set_note(known.note);
    row->set_has_row(known.has_row);
    row->set_nodes(known.nodes);
  }
}

std::map<core::Link, std::uint32_t> JobsOverLinks(const core::Tables& tables) {
  std::map<core::Link, std::uint32_t> jobs;
  tables.attempts.ForEach([&](const core::AttemptId&, const core::Attempt& attempt) {
    const bool begun = attempt.state != core::AttemptState::kClaimed && attempt.state != core::AttemptState::kEnded;
    if (begun && attempt.zones.size() == 2) ++jobs[core::LinkOf(attempt.zones[0], attempt.zones[1])];
  });
  return jobs;
}

}  // namespace

Result<core::AccountChange> RowChangeFromProto(const v1::RowChange& change) {
  core::AccountChange out;
  out.removed = change.remove();
  switch (change.row_case()) {
    case v1::RowChange::kPool: out.row = core::PoolRow{change.pool().name(), change.pool().note()}; return out;
    case v1::RowChange::kZone: out.row = core::ZoneRow{change.zone().name(), change.zone().note()}; return out;
    case v1::RowChange::kLink:
      out.row = core::ZoneLink{change.link().zone_a(), change.link().zone_b(), change.link().jobs_max(),
                               change.link().pairs_max()};
      return out;
    case v1::RowChange::kUser: {
      auto user = UserFromProto(change.user());
      if (!user.ok()) return user.status();
      out.row = std::move(user).value();
      return out;
    }
    case v1::RowChange::kTeam: out.row = TeamFromProto(change.team()); return out;
    case v1::RowChange::kQuota: {
      auto quota = QuotaFromProto(change.quota());
      if (!quota.ok()) return quota.status();
      out.row = std::move(quota).value();
      return out;
    }
    case v1::RowChange::ROW_NOT_SET: break;
  }
  return InvalidArgument("row", "is missing", "say which pool, zone, link, user, team or quota");
}

void LayoutToProto(const core::Tables& tables, v1::ListLayoutResponse* out) {
  const core::Accounts& rows = *tables.accounts;
  ByName pools, zones;
  AddRows(rows.pools, &pools);
  AddRows(rows.zones, &zones);
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    ++pools[node.labels.pool].nodes;
    ++zones[node.labels.zone].nodes;
  });
  for (const auto& [group, numbers] : rows.quotas) {
    if (group.pool != core::kAllPools) pools[group.pool];
  }
  for (const auto& [name, team] : rows.teams) {
    for (const std::string& pool : team.pools) pools[pool];
  }
  for (const auto& [ends, link] : rows.links) {
    zones[ends.first];
    zones[ends.second];
  }
  Write(pools, [out] { return out->add_pools(); });
  Write(zones, [out] { return out->add_zones(); });
  const std::map<core::Link, std::uint32_t> jobs = JobsOverLinks(tables);
  for (const auto& [ends, link] : rows.links) {
    v1::LayoutLink* const row = out->add_links();
    row->set_zone_a(link.zone_a);
    row->set_zone_b(link.zone_b);
    row->set_jobs_max(link.jobs_max);
    row->set_pairs_max(link.pairs_max);
    const auto crossing = jobs.find(ends);
    row->set_jobs(crossing == jobs.end() ? 0 : crossing->second);
  }
}

}  // namespace glim::server
