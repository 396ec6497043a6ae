// The arguments of commands that take jobs: submit [FILE|-] [-- CMD...], and the flags that change one.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/syntax.h"
#include "cli/spec/spec_overrides.h"

namespace glim::cli {

struct SpecArguments {
  std::string file;
  SpecOverrides overrides;
  bool snapshot = false;  // of all jobs, as `code: snapshot`
};

// `arguments` outlives the parse.
void AddSpecArguments(Syntax command, SpecArguments* arguments);

// The jobs that they name: of a file, of standard input, or of the command line behind "--" (`tail`).
Result<std::vector<glim::v1::JobSpec>> CollectSpecs(const SpecArguments& arguments,
                                                    const std::vector<std::string>& tail);

// "sft: 4 x 8 GPUs, pool a100, priority normal"
std::string DescribeSpec(const glim::v1::JobSpec& spec);

}  // namespace glim::cli
