// Reads job specs: YAML (docs/job-spec.md) to glim.v1.JobSpec, with every default filled in.
//
// Pure but for its inputs: no files, no environment, no network; safe for text from anywhere (at most 1 MiB, bounded
// nesting, aliases shared and never expanded). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glim/v1/job.pb.h"
#include "sdk/base/result.h"

namespace glim::jobfile {

struct SpecSource {
  std::string name;      // for messages: "job.yaml"
  std::string base_dir;  // absolute; a relative `workdir` starts here
};

// The jobs of a file, one a YAML document, at least one. `code: snapshot` becomes a snapshot that is set and empty. The
// first fault ends the reading: kInvalidArgument with reason INVALID_SPEC, the field, and a message that begins with
// "name:line:column: ".
Result<std::vector<glim::v1::JobSpec>> ReadSpecs(std::string_view text, const SpecSource& source);

// As the server would: the same conversion, the same rules, the same words.
Status CheckSpec(const glim::v1::JobSpec& spec);

}  // namespace glim::jobfile
