// glim admin config show, reload and check: the policy in force, reading its file again, and reading a file here.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"
#include "scheduler/policy/policy_file.h"

namespace glim::cli {
namespace {

struct AdminConfigOptions {
  bool dry_run = false;
  bool json = false;
  std::string file;
};

Status RunShow(CommandContext& context, const AdminConfigOptions& options) {
  Result<glim::v1::GetPolicyResponse> response =
      context.client.Call(&glim::v1::AdminApi::Stub::GetPolicy, glim::v1::GetPolicyRequest());
  if (!response.ok()) return response.status();
  if (context.output.json() || options.json) {
    Json document = NewDocument();
    document["yaml"] = response->yaml();
    document["source"] = response->source();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Data(response->yaml());
  return Status::Ok();
}

void SayReloaded(const glim::v1::ReloadPolicyResponse& response, bool dry_run, Output& output) {
  for (const std::string& warning : response.warnings()) output.Note("warning: " + warning);
  if (response.changes_size() == 0) {
    output.Note(fmt::format("no change: {} says what is in force", response.source()));
    return;
  }
  const std::vector<glim::v1::PolicyChange> changes(response.changes().begin(), response.changes().end());
  output.Data(PolicyChangesTable(changes, output.colour()));
  output.Note(dry_run ? "a dry run: nothing was changed" : fmt::format("in force now, from {}", response.source()));
}

Status RunReload(CommandContext& context, const AdminConfigOptions& options) {
  glim::v1::ReloadPolicyRequest request;
  request.set_dry_run(options.dry_run);
  Result<glim::v1::ReloadPolicyResponse> response =
      context.client.Call(&glim::v1::AdminApi::Stub::ReloadPolicy, request);
  if (!response.ok()) return response.status();
  if (!context.output.json() && !options.json) {
    SayReloaded(*response, options.dry_run, context.output);
    return Status::Ok();
  }
  Json document = NewDocument();
  const Json message = MessageJson(*response);
  for (const auto& [key, value] : message.items()) document[key] = value;
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

// Without a scheduler, by the same code that it reads with.
Status RunCheck(CommandContext& context, const AdminConfigOptions& options) {
  const auto text = yaml::ReadTextFile(options.file, "FILE");
  if (!text.ok()) {  // a fault of the command line, not an object that the scheduler lacks
    return InvalidArgument("FILE", text.status().message(), "name a file that can be read").WithReason("CANNOT_READ");
  }
  const auto file = server::ReadPolicyText(*text, options.file);
  if (!file.ok()) return file.status();
  const auto changes = server::DiffPolicies({}, *file);
  if (context.output.json() || options.json) {
    Json document = NewDocument();
    document["file"] = options.file;
    document["keys"] = Json::array();
    for (const server::PolicyChange& change : changes) document["keys"].push_back(change.field);
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Note(changes.empty()
                          ? fmt::format("{} is a policy: all of it is as it is without a file", options.file)
                          : fmt::format("{} is a policy: it says otherwise than without a file for {} {}", options.file,
                                        changes.size(), changes.size() == 1 ? "key" : "keys"));
  return Status::Ok();
}

}  // namespace

void AddAdminConfig(Syntax admin, Selection* selection) {
  Syntax config = admin.AddGroup("config", "The policy that the scheduler decides by");
  const auto options = std::make_shared<AdminConfigOptions>();
  Syntax show = config.AddCommand("show", "Print the policy in force, as a policy file");
  show.Example("glim admin config show > policy.yaml");
  show.Flag("--json", &options->json, "the same as -o json");
  show.OnChosen([=] { selection->run = [options](CommandContext& context) { return RunShow(context, *options); }; });
  Syntax reload = config.AddCommand("reload", "Make the scheduler read its policy file again");
  reload.Example("glim admin config reload --dry-run");
  reload.Flag("--dry-run", &options->dry_run, "say what would change, and change nothing");
  reload.Flag("--json", &options->json, "the same as -o json");
  reload.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunReload(context, *options); }; });
  Syntax check = config.AddCommand("check", "Say what is wrong with a policy file, without a scheduler");
  check.Example("glim admin config check policy.yaml");
  check.Option("FILE", &options->file, "a policy file", Presence::kRequired);
  check.Flag("--json", &options->json, "the same as -o json");
  check.OnChosen([=] { selection->run = [options](CommandContext& context) { return RunCheck(context, *options); }; });
}

}  // namespace glim::cli
