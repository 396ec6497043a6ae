#include "cli/views/row_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/style.h"
#include "cli/text/text.h"

namespace glim::cli {
namespace {

using glim::v1::RowChange;

// Words that YAML takes for something else.
constexpr std::array<std::string_view, 9> kOddWords = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

bool IsPlainWord(const std::string& text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
  });
  std::string low = text;
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  return plain && std::find(kOddWords.begin(), kOddWords.end(), low) == kOddWords.end();
}

std::string Dumped(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

// As a flow of YAML.
std::string FlowText(const Json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return IsPlainWord(text) ? text : Dumped(value);
  }
  std::string flow;
  const auto next = [&flow]() -> std::string& { return flow += flow.empty() ? "" : ", "; };
  if (value.is_array()) {
    for (const Json& item : value) next() += FlowText(item);
    return "[" + flow + "]";
  }
  if (!value.is_object()) return Dumped(value);
  for (const auto& [key, field] : value.items()) next() += key + ": " + FlowText(field);
  return "{" + flow + "}";
}

template <typename Names>
void PutList(Json* row, const char* key, const Names& names) {
  if (names.empty()) return;
  (*row)[key] = Json::array();
  for (const auto& name : names) (*row)[key].push_back(name);
}

template <typename Row>
Json NamedJson(const Row& row) {
  Json json = {{"name", row.name()}};
  if (!row.note().empty()) json["note"] = row.note();
  return json;
}

Json LinkJson(const glim::v1::LayoutLink& link) {
  Json json;
  json["zone_a"] = link.zone_a();
  json["zone_b"] = link.zone_b();
  json["jobs_max"] = link.jobs_max();
  json["pairs_max"] = link.pairs_max();
  return json;
}

Json UserJson(const glim::v1::AccountUser& user) {
  Json json = {{"name", user.name()}};
  PutList(&json, "teams", user.teams());
  PutList(&json, "admin_of", user.admin_of());
  if (!user.role().empty() && user.role() != "user") json["role"] = user.role();
  if (user.has_uid()) {
    json["uid"] = user.uid();
    json["gid"] = user.gid();
  }
  PutList(&json, "groups", user.groups());
  if (user.disabled()) json["disabled"] = true;
  return json;
}

Json TeamJson(const glim::v1::AccountTeam& team) {
  Json json = {{"name", team.name()}, {"weight", team.weight() == 0 ? 100 : team.weight()}};
  PutList(&json, "pools", team.pools());
  if (!team.default_pool().empty()) json["default_pool"] = team.default_pool();
  return json;
}

Json QuotaJson(const glim::v1::AccountQuota& quota) {
  std::string subject = quota.of();
  std::replace(subject.begin(), subject.end(), '_', '-');
  if (!quota.subject().empty()) subject += ":" + quota.subject();
  Json json;
  json["subject"] = subject;
  json["class"] = quota.priority();
  if (!quota.pool().empty() && quota.pool() != "*") json["pool"] = quota.pool();
  json["nodes"] = quota.nodes();
  return json;
}

// The name of a row says these already.
bool NamesTheRow(const std::string& key) {
  return key == "name" || key == "zone_a" || key == "zone_b" || key == "subject" || key == "class" || key == "pool";
}

// The fields but those that name the row: "weight 200, pools [a100]".
std::string FieldsText(const Json& row) {
  std::string text;
  for (const auto& [key, value] : row.items()) {
    if (!NamesTheRow(key)) text += (text.empty() ? "" : ", ") + key + " " + FlowText(value);
  }
  return text;
}

std::string ChangedText(const Json& before, const Json& after) {
  std::string text;
  const auto add = [&](const std::string& key, const std::string& was, const std::string& is) {
    text += (text.empty() ? "" : ", ") + key + " " + was + " -> " + is;
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) {
      add(key, FlowText(value), "none");
    } else if (after[key] != value) {
      add(key, FlowText(value), FlowText(after[key]));
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) add(key, "none", FlowText(value));
  }
  return text;
}

template <typename Rows>
std::string NamesTable(const char* title, const Rows& rows, bool colour) {
  Table table({{title}, {"NODES", true}, {"ROW"}, {"NOTE", false, 80}});
  for (const auto& row : rows) {
    table.AddRow({row.name(), std::to_string(row.nodes()), row.has_row() ? "yes" : "no", row.note()});
  }
  return table.Render(colour);
}

}  // namespace

std::string PoolsTable(const glim::v1::ListLayoutResponse& layout, bool colour) {
  return NamesTable("POOL", layout.pools(), colour);
}

std::string ZonesTable(const glim::v1::ListLayoutResponse& layout, bool colour) {
  return NamesTable("ZONE", layout.zones(), colour);
}

std::string LinksTable(const glim::v1::ListLayoutResponse& layout, bool colour) {
  Table table({{"ZONES"}, {"JOBS MAX", true}, {"PAIRS MAX", true}, {"JOBS NOW", true}});
  for (const glim::v1::LayoutLink& link : layout.links()) {
    table.AddRow({link.zone_a() + " " + link.zone_b(), std::to_string(link.jobs_max()),
                  std::to_string(link.pairs_max()), std::to_string(link.jobs())});
  }
  return table.Render(colour);
}

Json RowJson(const RowChange& row) {
  switch (row.row_case()) {
    case RowChange::kPool: return NamedJson(row.pool());
    case RowChange::kZone: return NamedJson(row.zone());
    case RowChange::kLink: return LinkJson(row.link());
    case RowChange::kUser: return UserJson(row.user());
    case RowChange::kTeam: return TeamJson(row.team());
    case RowChange::kQuota: return QuotaJson(row.quota());
    case RowChange::ROW_NOT_SET: break;
  }
  return Json::object();
}

std::string RowsYaml(const std::string& section, const std::vector<RowChange>& rows) {
  if (rows.empty()) return section + ": []\n";
  std::string text = section + ":\n";
  for (const RowChange& row : rows) text += "  - " + FlowText(RowJson(row)) + "\n";
  return text;
}

std::string DifferencesText(const std::vector<RowDifference>& differences, bool colour) {
  std::string text;
  for (const RowDifference& one : differences) {
    std::string line = one.name;
    Style style = Style::kWarn;
    if (one.before.is_null()) {
      const std::string fields = FieldsText(one.after);
      line = "+ " + line + (fields.empty() ? "" : ": " + fields);
      style = Style::kGood;
    } else if (one.after.is_null()) {
      line = "- " + line;
      style = Style::kBad;
    } else {
      line = "~ " + line + ": " + ChangedText(one.before, one.after);
    }
    text += Tint(Escaped(line), style, colour) + "\n";
  }
  return text;
}

Json DifferencesJson(const std::vector<RowDifference>& differences) {
  Json list = Json::array();
  for (const RowDifference& one : differences) {
    Json entry;
    entry["object"] = one.name;
    entry["before"] = one.before;
    entry["after"] = one.after;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace glim::cli
