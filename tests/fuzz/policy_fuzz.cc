// Any bytes as a policy file: a policy within the bounds that shows and reads back to the same, or a refusal that can
// be printed and says where the fault is. Behind an '@' a byte chooses a line of the file that shows the defaults, and
// the rest is that key's value: so each key is met, also one that joins.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/core/model/policy_keys.h"
#include "scheduler/policy/policy_file.h"
#include "scheduler/policy/policy_numbers.h"
#include "sdk/base/utf8.h"
#include "sdk/yaml/fields.h"
#include "tests/fuzz/holds.h"

namespace glim::server {
namespace {

using fuzz::Holds;

constexpr std::size_t kMessageBytesMax = 4096;

void CheckRefusal(const Status& status) {
  const std::string& message = status.message();
  Holds(status.code() == StatusCode::kInvalidArgument, "a refusal's code", message);
  Holds(status.reason() == "BAD_CONFIG", "a refusal's reason", message);
  Holds(message.starts_with("fuzz.yaml:") && message[10] >= '1' && message[10] <= '9', "a refusal says where", message);
  for (const std::string& text : {message, status.field(), status.fix()}) {
    Holds(text.size() <= kMessageBytesMax, "a refusal is short", text);
    Holds(IsUtf8(text), "a refusal is UTF-8", text);
    Holds(!HasControl(text), "a refusal is printable", text);
  }
}

void CheckPolicyFile(const PolicyFile& file) {
  const core::Policy& policy = file.policy;
  Holds(FindPolicyFault(policy).key.empty(), "the numbers fit each other");
  for (const core::PolicyKey& key : core::PolicyKeys()) {
    if (!core::IsAmount(key)) continue;
    const std::int64_t amount = core::AmountOf(key, policy);
    Holds(key.low <= amount && amount <= key.high, "an amount is within its bounds", key.name);
  }
  for (const auto& [team, weight] : policy.team_weight)
    Holds(yaml::IsName(team) && weight >= 1, "a team's weight", team);
  for (const auto& [user, quota] : policy.user_quota) Holds(yaml::IsName(user), "a user's name", user);
  for (const core::ZoneLink& link : policy.links) {
    Holds(yaml::IsName(link.zone_a) && yaml::IsName(link.zone_b) && link.zone_a != link.zone_b, "a link", link.zone_a);
  }
  const std::string shown = PolicyYaml(file);
  const auto again = ReadPolicyText(shown, "shown.yaml");
  Holds(again.ok(), "what is shown can be read", shown);
  Holds(DiffPolicies(file, *again).empty(), "what is shown reads back to the same", shown);
  Holds(ChangesInWords(DiffPolicies(PolicyFile(), file)).size() <= 1000, "a difference in words is short");
  std::vector<std::string> warnings;
  Holds(CheckNames(file.names, {}, &warnings).ok(), "an empty cluster refuses nothing");
  Holds(warnings.size() <= file.names.mentions.size(), "a warning a mention at most");
}

std::string FileOf(std::string text) {
  if (text.size() < 2 || text[0] != '@') return text;
  std::istringstream shown(PolicyYaml(PolicyFile()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(shown, line);) lines.push_back(line);
  std::string& line = lines[static_cast<std::uint8_t>(text[1]) % lines.size()];
  line = line.substr(0, line.find(':')) + ": " + text.substr(2);
  std::string file;
  for (const std::string& each : lines) file += each + "\n";
  return file;
}

}  // namespace
}  // namespace glim::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = glim::server::FileOf({reinterpret_cast<const char*>(data), size});
  const auto file = glim::server::ReadPolicyText(text, "fuzz.yaml");
  if (file.ok()) {
    glim::server::CheckPolicyFile(*file);
  } else {
    glim::server::CheckRefusal(file.status());
  }
  return 0;
}
