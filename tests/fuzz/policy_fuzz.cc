// Any bytes as a policy file: a policy within the bounds that shows and reads back to the same, or a refusal that can
// be printed and says where the fault is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/policy/policy_file.h"
#include "scheduler/policy/policy_numbers.h"
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
    Holds(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }), "a refusal is printable",
          text);
  }
}

void CheckPolicyFile(const PolicyFile& file) {
  const core::Policy& policy = file.policy;
  Holds(FindPolicyFault(policy).key.empty(), "the numbers fit each other");
  Holds(policy.preempt_gain_permille >= 1000 && policy.size_weight_permille >= 0 && policy.age_weight_permille >= 0 &&
            policy.move_gain_permille >= 0,
        "weights");
  for (const auto& [team, weight] : policy.team_weight) Holds(IsName(team) && weight >= 1, "a team's weight", team);
  for (const auto& [user, quota] : policy.user_quota) Holds(IsName(user), "a user's name", user);
  for (const core::ZoneLink& link : policy.links) {
    Holds(IsName(link.zone_a) && IsName(link.zone_b) && link.zone_a != link.zone_b, "a link", link.zone_a);
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

}  // namespace
}  // namespace glim::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = glim::server::ReadPolicyText(text, "fuzz.yaml");
  if (file.ok()) {
    glim::server::CheckPolicyFile(*file);
  } else {
    glim::server::CheckRefusal(file.status());
  }
  return 0;
}
