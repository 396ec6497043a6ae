#include "scheduler/core/lifecycle/notify_rules.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::core {
namespace {

constexpr std::size_t kNamesShownMax = 16;
constexpr std::size_t kNameShownBytes = 64;

std::vector<std::string_view> NamesOf(const NotifyPolicy& notify) {
  std::vector<std::string_view> names;
  for (const auto& [name, webhook] : notify.webhooks) names.push_back(name);
  for (const auto& [name, command] : notify.commands) names.push_back(name);
  return names;
}

std::string Fix(const std::string& wrong, const std::vector<std::string_view>& names) {
  if (names.empty()) return "leave notify out: the policy names nowhere to send to; an operator adds it there";
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < kNamesShownMax; ++i) {
    all += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  if (names.size() > kNamesShownMax) all += " and " + std::to_string(names.size() - kNamesShownMax) + " more";
  const std::string near = Nearest(wrong, names);
  return (near.empty() ? "" : "did you mean '" + near + "'? ") + "the policy has " + all;
}

}  // namespace

Status CheckNotify(const Policy& policy, const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.notify.to.size(); ++i) {
    const std::string& name = spec.notify.to[i];
    if (policy.notify.Has(name)) continue;
    return InvalidArgument("notify.to[" + std::to_string(i) + "]",
                           "'" + EscapedStart(name, kNameShownBytes) + "' is nowhere that the policy sends to",
                           Fix(name, NamesOf(policy.notify)));
  }
  return Status::Ok();
}

void NoteNotifySkipped(Changes& changes, const NotifySkipped& event) {
  changes.Note(HistoryKind::kNotifySkipped, event.attempt, {},
               EscapedStart(event.name, kNameShownBytes) + ": the policy does not name it any more, nobody was told");
}

}  // namespace glim::core
