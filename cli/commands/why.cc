// glim why: every reason, with amounts, why a job is not running.
#include <memory>

#include "cli/commands/command.h"
#include "cli/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

Status Run(CommandContext& context, std::uint64_t job_id) {
  Result<glim::v1::Job> job = context.client.GetJob(job_id);
  if (!job.ok()) return job.status();
  if (!context.output.json()) {
    context.output.Data(WhyText(*job, context.output.colour()));
    return Status::Ok();
  }
  Json document = NewDocument();
  document["job_id"] = job->id();
  document["state"] = job->state();
  document["blockers"] = Json::array();
  for (const auto& blocker : job->blockers()) document["blockers"].push_back(MessageJson(blocker));
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace

void AddWhy(CLI::App* app, Selection* selection) {
  const auto job_id = std::make_shared<std::uint64_t>(0);
  CLI::App* command = app->add_subcommand("why", "Say why a job is not running");
  AddJobArgument(command, job_id.get());
  command->callback([=] { selection->run = [job_id](CommandContext& context) { return Run(context, *job_id); }; });
}

}  // namespace glim::cli
