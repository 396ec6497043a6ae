#include "scheduler/core/lifecycle/layout_rules.h"

#include <algorithm>
#include <vector>

namespace glim::core {
namespace {

constexpr std::size_t kReferrersNamedMax = 3;

// Who refers to something, the first few by name.
class Referrers {
 public:
  void Add(std::string name) {
    if (++count_ <= kReferrersNamedMax) names_.push_back(std::move(name));
  }
  std::size_t count() const { return count_; }
  // "n1, n2, n3 and 4 more".
  std::string Text() const {
    std::string text;
    for (const std::string& name : names_) text += (text.empty() ? "" : ", ") + name;
    return count_ > kReferrersNamedMax ? text + " and " + std::to_string(count_ - kReferrersNamedMax) + " more" : text;
  }

 private:
  std::vector<std::string> names_;
  std::size_t count_ = 0;
};

// The kinds of them, one after the other: "nodes n1, n2; quota of team vision".
class Referred {
 public:
  void Add(const char* one, const char* many, const Referrers& who) {
    if (who.count() == 0) return;
    text_ += (text_.empty() ? "" : "; ") + std::string(who.count() == 1 ? one : many) + " " + who.Text();
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Status CheckLayoutName(const std::string& field, const std::string& name) {
  if (IsAccountName(name)) return Status::Ok();
  return InvalidArgument(field, name.empty() ? "is missing" : "is no name",
                         "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

Status CheckNote(const std::string& note) {
  if (note.size() > kLayoutNoteMax) {
    return InvalidArgument("note", "has " + std::to_string(note.size()) + " bytes",
                           "use at most " + std::to_string(kLayoutNoteMax));
  }
  const bool plain =
      std::all_of(note.begin(), note.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  return plain ? Status::Ok() : InvalidArgument("note", "has a control character", "write it on one line");
}

Status NoSuchLayout(const std::string& kind, const std::string& name) {
  return Status(StatusCode::kNotFound, kind + ": no row of " + kind + " " + name)
      .WithReason("NO_SUCH_LAYOUT")
      .WithField(kind)
      .WithFix("glim admin " + kind + " ls shows the " + kind + "s");
}

Status LayoutInUse(const std::string& kind, const std::string& name, const std::string& who) {
  return Status(StatusCode::kFailedPrecondition, kind + ": " + kind + " " + name + " is in use: " + who)
      .WithReason("IN_USE")
      .WithField(kind)
      .WithFix("change or remove these first");
}

// Linear in the jobs: a row is seldom removed.
template <typename Refers>
Referrers JobsThat(const ClusterState& state, Refers refers) {
  Referrers jobs;
  state.tables().jobs.ForEach([&](JobId id, const Job& job) {
    if (!IsTerminal(job.state) && refers(*job.spec)) jobs.Add(std::to_string(id.value));
  });
  return jobs;
}

template <typename Refers>
Referrers NodesThat(const ClusterState& state, Refers refers) {
  Referrers nodes;
  state.tables().nodes.ForEach([&](NodeId, const Node& node) {
    if (refers(node.labels)) nodes.Add(node.name);
  });
  return nodes;
}

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string UsesOfPool(const ClusterState& state, const Accounts& accounts, const std::string& pool) {
  Referred uses;
  uses.Add("node", "nodes", NodesThat(state, [&](const NodeLabels& labels) { return labels.pool == pool; }));
  Referrers quotas, teams;
  for (const auto& [group, numbers] : accounts.quotas) {
    if (group.pool == pool) quotas.Add(SubjectWord(group));
  }
  for (const auto& [name, team] : accounts.teams) {
    if (IsAmong(team.pools, pool) || team.default_pool == pool) teams.Add(name);
  }
  uses.Add("the quota of", "the quotas of", quotas);
  uses.Add("team", "teams", teams);
  Referrers reservations;
  state.tables().reservations.ForEach([&](const std::string& name, const Reservation& row) {
    if (row.share > 0 && row.pool == pool) reservations.Add(name);
  });
  uses.Add("reservation", "reservations", reservations);
  uses.Add("job", "jobs", JobsThat(state, [&](const JobSpec& spec) { return spec.pool == pool; }));
  return uses.text();
}

std::string UsesOfZone(const ClusterState& state, const Accounts& accounts, const std::string& zone) {
  Referred uses;
  uses.Add("node", "nodes", NodesThat(state, [&](const NodeLabels& labels) { return labels.zone == zone; }));
  Referrers links;
  for (const auto& [ends, link] : accounts.links) {
    if (ends.first == zone || ends.second == zone) links.Add(ends.first + "-" + ends.second);
  }
  uses.Add("link", "links", links);
  uses.Add("job", "jobs", JobsThat(state, [&](const JobSpec& spec) { return IsAmong(spec.placement.zones, zone); }));
  return uses.text();
}

std::string Amount(std::uint32_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Status CheckAmount(const char* field, std::uint32_t amount) {
  if (amount <= kLinkAmountMax) return Status::Ok();
  return InvalidArgument(field, std::to_string(amount) + " is out of range",
                         "use 0 to " + std::to_string(kLinkAmountMax));
}

}  // namespace

Status CheckPool(const ClusterState& state, const Accounts& accounts, const PoolRow& row, bool removed) {
  if (Status s = CheckLayoutName("pool", row.name); !s.ok()) return s;
  if (!removed) return CheckNote(row.note);
  if (!accounts.pools.contains(row.name)) return NoSuchLayout("pool", row.name);
  const std::string who = UsesOfPool(state, accounts, row.name);
  return who.empty() ? Status::Ok() : LayoutInUse("pool", row.name, who);
}

Status CheckZone(const ClusterState& state, const Accounts& accounts, const ZoneRow& row, bool removed) {
  if (Status s = CheckLayoutName("zone", row.name); !s.ok()) return s;
  if (!removed) return CheckNote(row.note);
  if (!accounts.zones.contains(row.name)) return NoSuchLayout("zone", row.name);
  const std::string who = UsesOfZone(state, accounts, row.name);
  return who.empty() ? Status::Ok() : LayoutInUse("zone", row.name, who);
}

Status CheckLink(const Accounts& accounts, const ZoneLink& row, bool removed) {
  if (Status s = CheckLayoutName("zone_a", row.zone_a); !s.ok()) return s;
  if (Status s = CheckLayoutName("zone_b", row.zone_b); !s.ok()) return s;
  if (row.zone_a == row.zone_b) {
    return InvalidArgument("zone_b", "a link joins zone " + row.zone_a + " with itself", "name two different zones");
  }
  if (removed) {
    return accounts.links.contains(LinkOf(row)) ? Status::Ok() : NoSuchLayout("link", row.zone_a + "-" + row.zone_b);
  }
  if (Status s = CheckAmount("jobs_max", row.jobs_max); !s.ok()) return s;
  return CheckAmount("pairs_max", row.pairs_max);
}

std::string LayoutInWords(const PoolRow& row) { return row.note.empty() ? "no note" : "note '" + row.note + "'"; }
std::string LayoutInWords(const ZoneRow& row) { return row.note.empty() ? "no note" : "note '" + row.note + "'"; }
std::string LayoutInWords(const ZoneLink& row) {
  return Amount(row.jobs_max, "job") + ", " + Amount(row.pairs_max, "pair");
}

std::string MeaningOfLinks(const Links& before, const Links& after) {
  if (before.empty() == after.empty()) return "";
  return after.empty() ? "there is no link any more: one job, one pair between any two zones"
                       : "there were no links before: zones without a link are not crossed any more";
}

}  // namespace glim::core
