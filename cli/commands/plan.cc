// glim plan: what a submission would come to now. Nothing is submitted.
#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/patience.h"
#include "cli/commands/snapshot_specs.h"
#include "cli/commands/spec_arguments.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

struct PlanOptions {
  SpecArguments specs;
  bool json = false;
};

Status RunPlan(CommandContext& context, const PlanOptions& options) {
  Result<std::vector<glim::v1::JobSpec>> specs = CollectSpecs(options.specs, context.tail);
  if (!specs.ok()) return specs.status();
  if (Status status = AddSnapshots(context, /*write=*/false, &*specs); !status.ok()) return status;
  glim::v1::PlanJobRequest request;
  for (auto& spec : *specs) *request.add_specs() = std::move(spec);
  Result<glim::v1::PlanJobResponse> plan = CallWithPatience(context, &glim::v1::ClientApi::Stub::PlanJob, request);
  if (!plan.ok()) return plan.status();
  if (!context.output.json() && !options.json) {
    context.output.Data(PlanText(*plan, Now(), context.output.colour()));
    context.output.Note("nothing was submitted");
    return Status::Ok();
  }
  Json document = NewDocument();
  document["jobs"] = Json::array();
  for (const auto& job : plan->jobs()) {
    Json shown = MessageJson(job);
    shown["starts_now"] = job.has_start();
    document["jobs"].push_back(std::move(shown));
  }
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace

void AddPlan(Syntax app, Selection* selection) {
  const auto options = std::make_shared<PlanOptions>();
  Syntax command =
      app.AddCommand("plan", "Say what a submission would come to now, and submit nothing: plan [FILE|-] [-- CMD...]");
  command.Example("glim plan --nodes 16 -- python train.py");
  AddSpecArguments(command, &options->specs);
  command.Flag("--json", &options->json, "the same as -o json");
  command.OnChosen([=] {
    selection->takes_tail = true;
    selection->run = [options](CommandContext& context) { return RunPlan(context, *options); };
  });
}

}  // namespace glim::cli
