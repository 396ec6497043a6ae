#include "cli/spec/spec_overrides.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "scheduler/core/model/spec_limits.h"
#include "scheduler/jobfile/launcher.h"
#include "scheduler/jobfile/spec_reader.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

// The program's name, cut to what a job's name may be: "./train.py" is "train.py".
std::string NameOfProgram(const std::string& command_line) {
  const std::string word = command_line.substr(0, command_line.find_first_of(" \t\n"));
  std::string name;
  for (const char c : word.substr(word.rfind('/') + 1)) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (fits && !(name.empty() && (c == '.' || c == '-'))) name += c;
  }
  name.resize(std::min(name.size(), core::kSpecNameBytesMax));
  return name.empty() ? "job" : name;
}

}  // namespace

Status ApplyOverrides(const SpecOverrides& overrides, glim::v1::JobSpec* spec) {
  Status fault;
  const auto keep = [&fault](Status status) {
    if (fault.ok() && !status.ok()) fault = std::move(status);
    return fault.ok();
  };
  if (overrides.name) spec->set_name(*overrides.name);
  if (overrides.pool) spec->set_pool(*overrides.pool);
  if (overrides.image) spec->set_image(*overrides.image);
  if (overrides.priority) spec->set_priority(*overrides.priority);
  if (overrides.start_after) spec->set_start_after_ms(overrides.start_after->ms);
  if (overrides.nodes && keep(core::CheckAmount("nodes", *overrides.nodes))) {
    spec->set_nodes(static_cast<std::uint32_t>(*overrides.nodes));
  }
  if (overrides.gpus_per_node && keep(core::CheckAmount("gpus_per_node", *overrides.gpus_per_node))) {
    spec->set_gpus_per_node(static_cast<std::uint32_t>(*overrides.gpus_per_node));
  }
  if (overrides.launcher) {
    const std::string& word = *overrides.launcher;
    if (std::find(std::begin(jobfile::kLaunchers), std::end(jobfile::kLaunchers), word) ==
        std::end(jobfile::kLaunchers)) {
      keep(InvalidArgument("launcher", fmt::format("'{}' is none of: node, per-gpu", Shown(word)), "use one of them"));
    }
    spec->set_launcher(jobfile::LauncherOf(word));
  }
  if (overrides.grace) {
    const auto grace = ParseDuration(*overrides.grace);
    const std::string& word = *overrides.grace;
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' has no unit", word),
                           fmt::format("write {}s or {}m", word, word)));
    } else if (!grace) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' is no duration", Shown(word)),
                           "write it like 60s or 5m"));
    } else {
      auto* interrupt = spec->mutable_interrupt();
      interrupt->set_grace_ms(grace->ms);
      interrupt->set_max_grace_ms(std::max(interrupt->max_grace_ms(), grace->ms));
    }
  }
  keep(jobfile::CheckSpec(*spec));
  return fault;
}

Result<glim::v1::JobSpec> SpecFromCommand(const std::vector<std::string>& command, const std::string& workdir) {
  if (command.empty()) return InvalidArgument("run", "no command after '--'", "write 'glim submit -- CMD...'");
  std::string run = command.front();
  if (command.size() > 1) {
    run.clear();
    for (const std::string& word : command) run += (run.empty() ? "" : " ") + ShellQuote(word);
  }
  // An empty document gets every default; name and run are put in as values, never as YAML text.
  Result<std::vector<glim::v1::JobSpec>> specs =
      jobfile::ReadSpecs("{name: job, run: job}", {"the command line", workdir});
  if (!specs.ok()) return specs.status();
  glim::v1::JobSpec spec = std::move(specs->front());
  spec.set_run(std::move(run));
  spec.set_name(NameOfProgram(command.front()));
  if (Status fault = jobfile::CheckSpec(spec); !fault.ok()) return fault;
  return spec;
}

}  // namespace glim::cli
