// glim wait: returns when jobs have ended, with their verdict as the exit code.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands/command.h"
#include "cli/rpc/wait_for_job.h"

namespace glim::cli {
namespace {

struct WaitOptions {
  std::vector<std::uint64_t> job_ids;
  Duration timeout{-1};  // negative: none
};

// One after the other: they are all over when the last of them is. The time is that of the whole wait.
Status RunWait(CommandContext& context, const WaitOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Status> failures;
  for (const std::uint64_t job_id : options.job_ids) {
    std::optional<Duration> left;
    if (options.timeout.ms >= 0) {
      const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      left = Milliseconds(std::max<std::int64_t>(0, options.timeout.ms - gone.count()));
    }
    Result<glim::v1::Job> job = WaitForJob(context.client, context.interruption, context.output, job_id, left);
    Status status = job.ok() ? ReportEnd(*job, context.output) : job.status();
    if (status.code() == StatusCode::kCancelled || status.code() == StatusCode::kUnavailable) return status;
    if (!status.ok()) failures.push_back(std::move(status));
  }
  return Together(failures, options.job_ids.size(), "did not succeed");
}

}  // namespace

void AddWait(Syntax app, Selection* selection) {
  const auto options = std::make_shared<WaitOptions>();
  Syntax command = app.AddCommand("wait", "Wait until jobs have ended: 0 succeeded, 1 failed or cancelled");
  command.Example("glim wait 812 813 --timeout 2h");
  AddJobsArgument(command, &options->job_ids);
  AddDurationOption(command, "--timeout", &options->timeout, "give up after this long, with exit code 7");
  command.OnChosen([=] { selection->run = [options](CommandContext& context) { return RunWait(context, *options); }; });
}

}  // namespace glim::cli
