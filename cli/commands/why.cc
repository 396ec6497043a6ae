// glim why: every reason, with amounts, why a job is not running; when it may start, and what would start it now.
#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/patience.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

Status RunWhy(CommandContext& context, std::uint64_t job_id) {
  glim::v1::ExplainJobRequest request;
  request.set_job_id(job_id);
  Result<glim::v1::ExplainJobResponse> why = CallWithPatience(context, &glim::v1::ClientApi::Stub::ExplainJob, request);
  if (!why.ok()) return why.status();
  const glim::v1::Job* job = &why->job();
  if (!context.output.json()) {
    context.output.Data(WhyText(*why, Now(), context.output.colour()));
    return Status::Ok();
  }
  Json document = NewDocument();
  document["job_id"] = job->id();
  document["state"] = job->state();
  document["blockers"] = Json::array();
  for (const auto& blocker : job->blockers()) document["blockers"].push_back(MessageJson(blocker));
  document["outlook"] = why->has_outlook() ? MessageJson(why->outlook()) : Json(nullptr);
  document["counterfactuals"] = Json::array();
  for (const auto& tried : why->counterfactuals()) document["counterfactuals"].push_back(MessageJson(tried));
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace

void AddWhy(Syntax app, Selection* selection) {
  const auto job_id = std::make_shared<std::uint64_t>(0);
  Syntax command = app.AddCommand("why", "Say why a job is not running, and what would start it now");
  command.Example("glim why 812");
  AddJobArgument(command, job_id.get());
  command.OnChosen([=] { selection->run = [job_id](CommandContext& context) { return RunWhy(context, *job_id); }; });
}

}  // namespace glim::cli
