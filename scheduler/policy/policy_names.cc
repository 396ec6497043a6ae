#include "scheduler/policy/policy_names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

constexpr std::size_t kNamesMax = 10'000;
constexpr std::size_t kPoolsNamedMax = 16;

std::string ListYaml(const char* key, const std::set<std::string>& names) {
  if (names.empty()) return "";
  std::string text = std::string(key) + ": [";
  for (const std::string& name : names) text += (text.back() == '[' ? "" : ", ") + YamlName(name);
  return text + "]\n";
}

Status Unknown(const PolicyNames::Mention& mention, const std::set<std::string>& known) {
  const std::string what = mention.zone ? "zone" : "pool";
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string near = Nearest(mention.name, words);
  const std::string declare = "add it to the list `" + what + "s` if it is still to come";
  return Status(StatusCode::kInvalidArgument, std::to_string(mention.line) + ":" + std::to_string(mention.column) +
                                                  ": " + mention.field + ": no node of " + what + " '" + mention.name +
                                                  "' has ever registered")
      .WithReason("BAD_CONFIG")
      .WithField(mention.field)
      .WithFix(near.empty() ? declare : "did you mean '" + near + "'? or " + declare);
}

}  // namespace

Status ReadNameList(const yaml::Node& value, const std::string& path, std::set<std::string>* names) {
  if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list of names", "write it like [a, b]");
  if (value.items.size() > kNamesMax) return yaml::RefuseAt(value, path, "is too long", "name at most 10000");
  names->clear();
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    std::string name;
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (Status s = yaml::IntoName(&name)(*value.items[i], at); !s.ok()) return s;
    if (!names->insert(name).second)
      return yaml::RefuseAt(*value.items[i], at, "'" + name + "' is given twice", "keep one");
  }
  return Status::Ok();
}

void Mention(bool zone, const std::string& name, yaml::Mark where, const std::string& field, PolicyNames* names) {
  names->mentions.push_back({zone, name, field, where.line, where.column});
}

Status CheckNames(const PolicyNames& names, const KnownNames& known, std::vector<std::string>* warnings) {
  for (const PolicyNames::Mention& mention : names.mentions) {
    std::set<std::string> all = mention.zone ? known.zones : known.pools;
    const std::set<std::string>& declared = mention.zone ? names.zones : names.pools;
    all.insert(declared.begin(), declared.end());
    if (all.contains(mention.name)) continue;
    const Status refusal = Unknown(mention, all);
    if (known.any_node) return refusal;
    warnings->push_back(refusal.message());
  }
  return Status::Ok();
}

std::set<std::string> PoolsThatExist(const PolicyNames& names, const KnownNames& known) {
  std::set<std::string> pools = known.pools;
  pools.insert(names.pools.begin(), names.pools.end());
  for (const PolicyNames::Mention& mention : names.mentions) {
    if (!mention.zone) pools.insert(mention.name);
  }
  return pools;
}

Status CheckPoolExists(const std::string& pool, const std::set<std::string>& existing) {
  if (existing.contains(pool)) return Status::Ok();
  const std::vector<std::string_view> words(existing.begin(), existing.end());
  const std::string near = Nearest(pool, words);
  std::string fix = near.empty() ? "" : "did you mean '" + near + "'? ";
  std::string named;
  std::size_t count = 0;
  for (const std::string& name : existing) {
    if (++count <= kPoolsNamedMax) named += (named.empty() ? "" : ", ") + name;
  }
  if (count > kPoolsNamedMax) named += " and " + std::to_string(count - kPoolsNamedMax) + " more";
  fix += named.empty() ? "there are no pools yet: " : "the pools are " + named + "; ";
  fix += "use '*' for all pools together, or add it to `pools` of the policy if it is still to come";
  return Status(StatusCode::kNotFound, "pool: there is no pool '" + EscapedStart(pool, 64) +
                                           "': no node is in it, and the policy does not name it")
      .WithReason("NO_SUCH_POOL")
      .WithField("pool")
      .WithFix(std::move(fix));
}

std::string YamlName(const std::string& name) {
  const std::string folded = FoldWord(name);
  const bool word = std::isalpha(static_cast<unsigned char>(name.front())) != 0 && folded != "null" &&
                    folded != "true" && folded != "false";
  return word ? name : "\"" + name + "\"";
}

std::string NamesYaml(const PolicyNames& names) {
  return ListYaml("pools", names.pools) + ListYaml("zones", names.zones);
}

void FlattenNames(const PolicyNames& names, std::map<std::string, std::string>* out) {
  for (const std::string& pool : names.pools) (*out)["pools." + pool] = "declared";
  for (const std::string& zone : names.zones) (*out)["zones." + zone] = "declared";
}

}  // namespace glim::server
