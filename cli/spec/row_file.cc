#include "cli/spec/row_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/spec.h"
#include "sdk/yaml/fields.h"

namespace glim::cli {
namespace {

using glim::v1::RowChange;

constexpr std::int64_t kLinkAmountMax = 1000;
constexpr std::int64_t kWeightMax = 1'000'000;
constexpr std::int64_t kNodesMax = 10'000'000;
constexpr std::int64_t kIdMax = UINT32_MAX - 1;
constexpr std::size_t kWordShown = 64;
constexpr std::array<std::string_view, 4> kRoles = {"viewer", "user", "operator", "admin"};

// Unlike yaml::IntoText it may be empty.
yaml::Field IntoNote(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) -> Status {
    if (!value.IsScalar()) return yaml::RefuseAt(value, path, "must be a text", "write it in quotes");
    *out = value.scalar;
    return Status::Ok();
  };
}

template <typename Add>
yaml::Field IntoNames(Add add) {
  return [add](const yaml::Node& value, const std::string& path) -> Status {
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list of names", "write it like [a, b]");
    std::set<std::string> there;
    for (const yaml::NodePtr& item : value.items) {
      std::string name;
      if (Status taken = yaml::IntoName(&name)(*item, path); !taken.ok()) return taken;
      if (!there.insert(name).second) return yaml::RefuseAt(*item, path, name + " is there already", "keep one");
      add(std::move(name));
    }
    return Status::Ok();
  };
}

yaml::Field IntoGroups(glim::v1::AccountUser* user) {
  return [user](const yaml::Node& value, const std::string& path) -> Status {
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list of numbers", "write it like [44, 109]");
    for (const yaml::NodePtr& item : value.items) {
      const auto number = yaml::ReadNumber(*item, path, 0, kIdMax);
      if (!number.ok()) return number.status();
      user->add_groups(static_cast<std::uint32_t>(*number));
    }
    return Status::Ok();
  };
}

Status Missing(const yaml::Node& row, const std::string& path, const char* key) {
  return yaml::RefuseAt(row, path, std::string("does not say its ") + key, std::string("give ") + key);
}

template <typename Row>
Status ReadNamed(const yaml::Node& node, const std::string& path, Row* row) {
  std::string name, note;
  const yaml::Fields fields = {{"name", yaml::IntoName(&name)}, {"note", IntoNote(&note)}};
  if (Status read = yaml::ReadMap(node, path, fields); !read.ok()) return read;
  if (name.empty()) return Missing(node, path, "name");
  row->set_name(name);
  row->set_note(note);
  return Status::Ok();
}

Status ReadLink(const yaml::Node& node, const std::string& path, glim::v1::LayoutLink* link) {
  std::string a, b;
  std::uint32_t jobs = 1, pairs = 1;
  const yaml::Fields fields = {{"zone_a", yaml::IntoName(&a)},
                               {"zone_b", yaml::IntoName(&b)},
                               {"jobs_max", yaml::IntoNumber(&jobs, 0, kLinkAmountMax)},
                               {"pairs_max", yaml::IntoNumber(&pairs, 0, kLinkAmountMax)}};
  if (Status read = yaml::ReadMap(node, path, fields); !read.ok()) return read;
  if (a.empty() || b.empty()) return Missing(node, path, "zone_a and zone_b");
  if (a == b) return yaml::RefuseAt(node, path, "joins zone " + a + " with itself", "name two different zones");
  link->set_zone_a(std::min(a, b));
  link->set_zone_b(std::max(a, b));
  link->set_jobs_max(jobs);
  link->set_pairs_max(pairs);
  return Status::Ok();
}

Status CheckRole(const std::string& word) {
  if (std::find(kRoles.begin(), kRoles.end(), word) != kRoles.end()) return Status::Ok();
  return InvalidArgument("role", "'" + word.substr(0, kWordShown) + "' is no role",
                         "use viewer, user, operator or admin");
}

// An admin of a team is one of its users.
Status CheckAdminOf(const yaml::Node& node, const std::string& path, const glim::v1::AccountUser& user) {
  for (const std::string& team : user.admin_of()) {
    if (std::find(user.teams().begin(), user.teams().end(), team) != user.teams().end()) continue;
    return yaml::RefuseAt(node, path, "admin_of has " + team + ", which is none of the user's teams",
                          "give it among teams, too");
  }
  return Status::Ok();
}

Status ReadUser(const yaml::Node& node, const std::string& path, glim::v1::AccountUser* user) {
  std::string name, role;
  bool disabled = false;
  std::int64_t uid = -1, gid = -1;
  const yaml::Fields fields = {
      {"name", yaml::IntoName(&name)},
      {"teams", IntoNames([user](std::string team) { user->add_teams(std::move(team)); })},
      {"admin_of", IntoNames([user](std::string team) { user->add_admin_of(std::move(team)); })},
      {"role", yaml::IntoChecked(&role, CheckRole)},
      {"uid", yaml::IntoNumber(&uid, 0, kIdMax)},
      {"gid", yaml::IntoNumber(&gid, 0, kIdMax)},
      {"groups", IntoGroups(user)},
      {"disabled", yaml::IntoBool(&disabled)}};
  if (Status read = yaml::ReadMap(node, path, fields); !read.ok()) return read;
  if (name.empty()) return Missing(node, path, "name");
  if (Status admin = CheckAdminOf(node, path, *user); !admin.ok()) return admin;
  if (uid < 0 && gid >= 0) return yaml::RefuseAt(node, path, "has a gid and no uid", "give uid, or leave gid out");
  user->set_name(name);
  user->set_role(role.empty() ? "user" : role);
  user->set_disabled(disabled);
  user->set_has_uid(uid >= 0);
  if (uid < 0) return Status::Ok();
  user->set_uid(static_cast<std::uint32_t>(uid));
  user->set_gid(static_cast<std::uint32_t>(gid >= 0 ? gid : uid));
  return Status::Ok();
}

Status ReadTeam(const yaml::Node& node, const std::string& path, glim::v1::AccountTeam* team) {
  std::string name, default_pool;
  std::uint32_t weight = 100;
  const yaml::Fields fields = {{"name", yaml::IntoName(&name)},
                               {"weight", yaml::IntoNumber(&weight, 1, kWeightMax)},
                               {"pools", IntoNames([team](std::string pool) { team->add_pools(std::move(pool)); })},
                               {"default_pool", yaml::IntoName(&default_pool)}};
  if (Status read = yaml::ReadMap(node, path, fields); !read.ok()) return read;
  if (name.empty()) return Missing(node, path, "name");
  team->set_name(name);
  team->set_weight(weight);
  team->set_default_pool(default_pool);
  return Status::Ok();
}

Status CheckClass(const std::string& word) { return ClassName(word).status(); }

Status ReadQuota(const yaml::Node& node, const std::string& path, glim::v1::AccountQuota* quota) {
  std::string subject, priority, pool = "*";
  std::int64_t nodes = -1;
  const yaml::Fields fields = {{"subject", yaml::IntoText(&subject)},
                               {"class", yaml::IntoChecked(&priority, CheckClass)},
                               {"pool", yaml::IntoText(&pool)},
                               {"nodes", yaml::IntoNumber(&nodes, 0, kNodesMax)}};
  if (Status read = yaml::ReadMap(node, path, fields); !read.ok()) return read;
  if (subject.empty()) return Missing(node, path, "subject");
  if (priority.empty()) return Missing(node, path, "class");
  if (nodes < 0) return Missing(node, path, "nodes");
  FillSubject(subject, quota);
  quota->set_priority(*ClassName(priority));
  quota->set_pool(pool);
  quota->set_nodes(static_cast<std::uint32_t>(nodes));
  return Status::Ok();
}

Status ReadRow(RowKind kind, const yaml::Node& node, const std::string& path, RowChange* row) {
  switch (kind) {
    case RowChange::kPool: return ReadNamed(node, path, row->mutable_pool());
    case RowChange::kZone: return ReadNamed(node, path, row->mutable_zone());
    case RowChange::kLink: return ReadLink(node, path, row->mutable_link());
    case RowChange::kUser: return ReadUser(node, path, row->mutable_user());
    case RowChange::kTeam: return ReadTeam(node, path, row->mutable_team());
    case RowChange::kQuota: return ReadQuota(node, path, row->mutable_quota());
    case RowChange::ROW_NOT_SET: break;
  }
  return Status::Ok();
}

yaml::Field IntoRows(RowKind kind, RowFile* file) {
  return [=](const yaml::Node& value, const std::string& path) -> Status {
    std::size_t& count = file->counts[kind];
    if (value.IsNull()) return Status::Ok();
    if (!value.IsSequence()) {
      return yaml::RefuseAt(value, path, "must be a list", "begin each row with a dash, as 'get' prints them");
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      RowChange row;
      if (Status read = ReadRow(kind, *value.items[i], at, &row); !read.ok()) return read;
      if (const std::string name = NameOfRow(row); !names.insert(name).second) {
        return yaml::RefuseAt(*value.items[i], at, name + " is there already", "keep one");
      }
      file->rows.push_back(std::move(row));
      file->places.push_back({value.items[i]->mark, at});
      ++count;
    }
    return Status::Ok();
  };
}

}  // namespace

Result<RowFile> ReadRowFile(const std::string& text, const std::string& source) {
  RowFile file;
  yaml::Fields fields;
  // What `-o json` begins with.
  fields["version"] = [](const yaml::Node&, const std::string&) { return Status::Ok(); };
  for (const RowKind kind :
       {RowChange::kPool, RowChange::kZone, RowChange::kLink, RowChange::kUser, RowChange::kTeam, RowChange::kQuota}) {
    fields[SectionOf(kind)] = IntoRows(kind, &file);
  }
  if (Status read = yaml::ReadText(text, source, fields); !read.ok()) return read;
  return file;
}

const char* WordOf(RowKind kind) {
  switch (kind) {
    case RowChange::kPool: return "pool";
    case RowChange::kZone: return "zone";
    case RowChange::kLink: return "link";
    case RowChange::kUser: return "user";
    case RowChange::kTeam: return "team";
    case RowChange::kQuota: return "quota";
    case RowChange::ROW_NOT_SET: break;
  }
  return "row";
}

std::string SectionOf(RowKind kind) { return std::string(WordOf(kind)) + "s"; }

std::string NameOfRow(const RowChange& row) {
  switch (row.row_case()) {
    case RowChange::kPool: return "pool " + row.pool().name();
    case RowChange::kZone: return "zone " + row.zone().name();
    case RowChange::kLink: return "link " + row.link().zone_a() + "-" + row.link().zone_b();
    case RowChange::kUser: return "user " + row.user().name();
    case RowChange::kTeam: return "team " + row.team().name();
    case RowChange::kQuota: {
      const glim::v1::AccountQuota& quota = row.quota();
      const std::string where = quota.pool() == "*" || quota.pool().empty() ? "" : " in " + quota.pool();
      return "quota " + SubjectOfQuota(quota) + " " + quota.priority() + where;
    }
    case RowChange::ROW_NOT_SET: break;
  }
  return "";
}

std::string SubjectOfQuota(const glim::v1::AccountQuota& quota) {
  std::string word = quota.of();
  std::replace(word.begin(), word.end(), '_', '-');
  return quota.subject().empty() ? word : word + ":" + quota.subject();
}

void FillSubject(const std::string& word, glim::v1::AccountQuota* quota) {
  const std::size_t colon = word.find(':');
  std::string of = word.substr(0, colon);
  std::replace(of.begin(), of.end(), '-', '_');
  quota->set_of(of);
  if (colon != std::string::npos) quota->set_subject(word.substr(colon + 1));
}

Result<std::string> ClassName(const std::string& word) {
  const auto priority = core::ParsePriority(word);
  if (priority.ok() && *priority != core::PriorityClass::kAuto) return std::string(core::ToString(*priority));
  std::string known;
  for (const auto& one : core::kEnumWords<core::PriorityClass>) {
    if (one.value != core::PriorityClass::kAuto) known += (known.empty() ? "" : ", ") + std::string(one.word);
  }
  return InvalidArgument("class", "'" + word.substr(0, kWordShown) + "' is no class",
                         "use one of " + known + ", or its number");
}

}  // namespace glim::cli
