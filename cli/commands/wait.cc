// glim wait: returns when a job has ended, with its verdict as the exit code.
#include <memory>
#include <optional>

#include "cli/commands/command.h"
#include "cli/wait_for_job.h"

namespace glim::cli {
namespace {

struct Options {
  std::uint64_t job_id = 0;
  Duration timeout{-1};  // negative: none
};

Status Run(CommandContext& context, const Options& options) {
  const auto timeout = options.timeout.ms < 0 ? std::nullopt : std::optional(options.timeout);
  Result<glim::v1::Job> job =
      WaitForJob(context.client, context.interruption, context.output, options.job_id, timeout);
  if (!job.ok()) return job.status();
  return ReportEnd(*job, context.output);
}

}  // namespace

void AddWait(CLI::App* app, Selection* selection) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand("wait", "Wait until a job has ended: 0 succeeded, 1 failed or cancelled");
  AddJobArgument(command, &options->job_id);
  AddDurationOption(command, "--timeout", &options->timeout, "give up after this long, with exit code 7");
  command->callback([=] { selection->run = [options](CommandContext& context) { return Run(context, *options); }; });
}

}  // namespace glim::cli
