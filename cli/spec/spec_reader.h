// Reads job specs: YAML (docs/job-spec.md) to glim.v1.JobSpec, with every default filled in.
//
// Pure but for its inputs: no files, no environment, no network; safe for text from anywhere (at most 1 MiB, bounded
// nesting, aliases shared and never expanded). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glim/v1/job.pb.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct SpecSource {
  std::string name;      // for messages: "job.yaml"
  std::string base_dir;  // absolute; a relative `workdir` starts here
};

// The jobs of a file, one a YAML document, at least one. `code: snapshot` becomes a snapshot that is set and empty. The
// first fault ends the reading: kInvalidArgument with reason INVALID_SPEC, the field, and a message that begins with
// "name:line:column: ".
Result<std::vector<glim::v1::JobSpec>> ReadSpecs(std::string_view text, const SpecSource& source);

// What `glim submit` flags say; what is not set is left as it is.
struct SpecOverrides {
  std::optional<std::string> name;
  std::optional<std::string> pool;
  std::optional<std::string> priority;
  std::optional<std::string> launcher;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<std::string> grace;  // a duration

  bool any() const { return name || pool || priority || launcher || nodes || gpus_per_node || grace; }
};

// Changes `spec`, or refuses with the field's name and leaves it in an unspecified state.
Status ApplyOverrides(const SpecOverrides& overrides, glim::v1::JobSpec* spec);

// The spec of `glim submit -- CMD...`. One word is a shell command line as it stands; several are quoted word by word.
// The job's name is the program's, unless overridden later.
Result<glim::v1::JobSpec> SpecFromCommand(const std::vector<std::string>& command, const std::string& workdir);

}  // namespace glim::cli
