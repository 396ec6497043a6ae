#include "cli/commands/spec_arguments.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands/moment_option.h"
#include "cli/text/errors.h"
#include "cli/text/file.h"
#include "scheduler/jobfile/spec_reader.h"

namespace glim::cli {
namespace {

constexpr std::size_t kSpecBytesMax = 1 << 20;

Result<std::string> CurrentFolder() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  if (error) return UsageError("the current folder is gone: " + error.message(), "change to another");
  return path.string();
}

Result<std::vector<glim::v1::JobSpec>> SpecsFromFile(const std::string& file, const std::string& folder) {
  Result<std::string> text = ReadFile(file, kSpecBytesMax);
  if (!text.ok()) return text.status();
  if (file == "-") return jobfile::ReadSpecs(*text, {"standard input", folder});
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  return jobfile::ReadSpecs(*text, {file, path.parent_path().lexically_normal().string()});
}

}  // namespace

void AddSpecArguments(Syntax command, SpecArguments* arguments) {
  command.Option("FILE", &arguments->file, "a job spec in YAML (docs/job-spec.md); '-' reads standard input");
  SpecOverrides& overrides = arguments->overrides;
  command.Option("--name", &overrides.name, "the job's name");
  command.Option("--nodes", &overrides.nodes, "how many whole nodes");
  command.Option("--pool", &overrides.pool, "the pool to take them from");
  command.Option("--image", &overrides.image, "what to run in (docs/howto/use-an-image.md)");
  command.Option("--priority", &overrides.priority, "a class by name or number, or auto");
  command.Option("--gpus-per-node", &overrides.gpus_per_node, "GPUs on each node");
  command.Option("--launcher", &overrides.launcher, "node: once a node; per-gpu: once for every GPU");
  command.Option("--grace", &overrides.grace, "time to save and leave when interrupted: 60s, 5m");
  command.ParsedOption("--start-after", "it does not start before that: 'in 8h', 2026-12-01T20:00Z",
                       IntoComingMoment(&overrides.start_after));
  command.Flag("--snapshot", &arguments->snapshot, "pack the workdir now; every attempt runs that copy");
}

Result<std::vector<glim::v1::JobSpec>> CollectSpecs(const SpecArguments& arguments,
                                                    const std::vector<std::string>& tail) {
  if (arguments.file.empty() && tail.empty()) {
    return UsageError("no job is given", "name a file, '-' for standard input, or write '-- CMD...'");
  }
  if (!arguments.file.empty() && !tail.empty()) {
    return UsageError("both a file and a command after '--'", "give one of them");
  }
  Result<std::string> folder = CurrentFolder();
  if (!folder.ok()) return folder.status();
  std::vector<glim::v1::JobSpec> specs;
  if (tail.empty()) {
    Result<std::vector<glim::v1::JobSpec>> read = SpecsFromFile(arguments.file, *folder);
    if (!read.ok()) return read.status();
    specs = *std::move(read);
  } else {
    Result<glim::v1::JobSpec> spec = SpecFromCommand(tail, *folder);
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  if (specs.size() > 1 && arguments.overrides.any()) {
    return UsageError(fmt::format("flags cannot change {} jobs at once", specs.size()), "change the file");
  }
  if (Status applied = ApplyOverrides(arguments.overrides, &specs.front()); !applied.ok()) return applied;
  for (glim::v1::JobSpec& spec : specs) {
    if (arguments.snapshot) spec.mutable_snapshot();
  }
  return specs;
}

std::string DescribeSpec(const glim::v1::JobSpec& spec) {
  return fmt::format("{}: {} x {} GPUs{}, priority {}", spec.name(), spec.nodes(), spec.gpus_per_node(),
                     spec.pool().empty() ? "" : ", pool " + spec.pool(), spec.priority());
}

}  // namespace glim::cli
