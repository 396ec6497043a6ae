// Any bytes as a job file: specs within the limits, or a refusal that can be printed and says where the fault is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/spec/spec_limits.h"
#include "cli/spec/spec_reader.h"
#include "cli/text/text.h"
#include "sdk/base/utf8.h"
#include "tests/fuzz/holds.h"

namespace glim::cli {
namespace {

using fuzz::Holds;

constexpr std::size_t kMessageBytesMax = 4096;

void CheckRefusal(const Status& status) {
  const std::string& message = status.message();
  Holds(status.code() == StatusCode::kInvalidArgument, "a refusal's code", message);
  Holds(status.reason() == "INVALID_SPEC", "a refusal's reason", message);
  Holds(message.starts_with("fuzz.yaml:"), "a refusal says where", message);
  for (const std::string& text : {message, status.field(), status.fix()}) {
    Holds(text.size() <= kMessageBytesMax, "a refusal is short", text);
    Holds(FirstInvalidUtf8(text) == std::string::npos, "a refusal is UTF-8", text);
    Holds(FirstControl(text, false) == std::string::npos, "a refusal is printable", text);
  }
}

void CheckSpec(const glim::v1::JobSpec& spec) {
  Holds(CheckName("name", spec.name()).ok(), "name", spec.name());
  Holds(CheckName("pool", spec.pool()).ok(), "pool", spec.pool());
  Holds(CheckPriority("priority", spec.priority()).ok(), "priority", spec.priority());
  Holds(CheckRun("run", spec.run()).ok(), "run", spec.run());
  Holds(spec.workdir().starts_with('/') && CheckPath("workdir", spec.workdir()).ok(), "workdir", spec.workdir());
  Holds(spec.nodes() >= 1 && spec.nodes() <= kNodesMax, "nodes");
  Holds(spec.gpus_per_node() <= kGpusPerNodeMax, "gpus_per_node");
  Holds(spec.placement().zones_size() <= static_cast<int>(kZonesMax), "zones");
  Holds(spec.env_size() <= static_cast<int>(kEnvEntriesMax), "env");
  for (const auto& variable : spec.env()) {
    Holds(CheckEnvName("env", variable.name()).ok(), "a variable's name", variable.name());
    Holds(CheckEnvValue("env", variable.value()).ok(), "a variable's value", variable.value());
  }
  Holds(spec.interrupt().grace_ms() >= 0, "grace");
  Holds(spec.time_limit_ms() == 0 || spec.time_limit_ms() >= kTimeLimitMin.ms, "time limit");
  Holds(spec.after_size() <= static_cast<int>(kAfterMax), "after");
  for (const auto& dependency : spec.after()) {
    Holds(dependency.job_id() > 0 && CheckOneOf("after", dependency.when(), kDependencyKinds).ok(), "a dependency");
  }
  Holds(spec.interrupt().max_grace_ms() >= spec.interrupt().grace_ms(), "max_grace");
  Holds(!spec.has_checkpoint() || spec.checkpoint().keep() <= kKeepMax, "keep");
  glim::v1::JobSpec copy;
  Holds(copy.ParseFromString(spec.SerializeAsString()), "a spec can be sent");
}

}  // namespace
}  // namespace glim::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto specs = glim::cli::ReadSpecs(text, {"fuzz.yaml", "/home/kim"});
  if (!specs.ok()) {
    glim::cli::CheckRefusal(specs.status());
    return 0;
  }
  glim::fuzz::Holds(!specs->empty(), "at least one job");
  for (const auto& spec : *specs) glim::cli::CheckSpec(spec);
  return 0;
}
