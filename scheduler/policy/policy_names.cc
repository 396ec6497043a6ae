#include "scheduler/policy/policy_names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

constexpr std::size_t kNamesMax = 10'000;
constexpr std::size_t kNamesShownMax = 16;

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
  const std::string declare = "declare it if it is still to come: glim admin " + what + " set " + mention.name;
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

Status CheckIsKnown(bool zone, const std::string& field, const std::string& name,
                    const std::set<std::string>& existing) {
  if (existing.contains(name)) return Status::Ok();
  const std::string what = zone ? "zone" : "pool";
  const std::vector<std::string_view> words(existing.begin(), existing.end());
  const std::string near = Nearest(name, words);
  std::string fix = near.empty() ? "" : "did you mean '" + near + "'? ";
  std::string named;
  std::size_t count = 0;
  for (const std::string& one : existing) {
    if (++count <= kNamesShownMax) named += (named.empty() ? "" : ", ") + one;
  }
  if (count > kNamesShownMax) named += " and " + std::to_string(count - kNamesShownMax) + " more";
  fix += named.empty() ? "there are no " + what + "s yet: " : "the " + what + "s are " + named + "; ";
  if (!zone) fix += "use '*' for all pools together, or ";
  fix += "declare it if it is still to come: glim admin " + what + " set " + EscapedStart(name, 64);
  return Status(StatusCode::kNotFound, field + ": there is no " + what + " '" + EscapedStart(name, 64) +
                                           "': no node is in it, and no row names it")
      .WithReason(zone ? "NO_SUCH_ZONE" : "NO_SUCH_POOL")
      .WithField(field)
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
