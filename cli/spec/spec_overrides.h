// What a command line says of a job beside its file, or instead of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "glim/v1/job.pb.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

// What `glim submit` flags say; what is not set is left as it is.
struct SpecOverrides {
  std::optional<std::string> name;
  std::optional<std::string> pool;
  std::optional<std::string> image;
  std::optional<std::string> priority;
  std::optional<std::string> launcher;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::string> grace;  // a duration
  std::optional<TimePoint> start_after;

  bool any() const {
    return name || pool || image || priority || launcher || nodes || gpus_per_node || grace || start_after;
  }
};

// Changes `spec`, or refuses with the field's name and leaves it in an unspecified state.
Status ApplyOverrides(const SpecOverrides& overrides, glim::v1::JobSpec* spec);

// The spec of `glim submit -- CMD...`. One word is a shell command line as it stands; several are quoted word by word.
// The job's name is the program's, unless overridden later.
Result<glim::v1::JobSpec> SpecFromCommand(const std::vector<std::string>& command, const std::string& workdir);

}  // namespace glim::cli
