#include "cli/text/option_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace glim::cli {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array<Names, 23> kNames = {{
    {"name", "NAME"},
    {"node", "NODE"},
    {"job_id", "JOB"},
    {"user", "--user"},
    {"team", "--team"},
    {"pool", "--pool"},
    {"share", "--nodes"},
    {"nodes", "--nodes"},
    {"node_names", "--node"},
    {"begins_at_ms", "--from"},
    {"ends_at_ms", "--until"},
    {"for_ms", "--for"},
    {"deadline_ms", "--deadline"},
    {"ttl_ms", "--ttl"},
    {"since_ms", "--since"},
    {"until_ms", "--until"},
    {"by", "--by"},
    {"states", "--state"},
    {"reason", "--reason"},
    {"address", "--address"},
    {"all_of_user", "--all-of"},
    {"labels.gpu_count", "--gpus"},
    {"labels.gpu_type", "--gpu-type"},
}};
constexpr std::string_view kLabels = "labels.";

}  // namespace

Status WithOptionNames(const Status& status) {
  std::string field = status.field();
  const auto* const known =
      std::find_if(kNames.begin(), kNames.end(), [&](const Names& names) { return names.first == field; });
  if (known != kNames.end()) {
    field = known->second;
  } else if (field.starts_with(kLabels)) {
    field = "--" + field.substr(kLabels.size());
  }
  return Status(status.code(), status.message())
      .WithReason(status.reason())
      .WithField(std::move(field))
      .WithFix(status.fix());
}

}  // namespace glim::cli
