// glim admin status, glim admin node return, and what else operators ask.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/admin_accounts.h"
#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

std::string StatusLines(const glim::v1::GetSchedulerStatusResponse& status) {
  const std::string uses = UsesLine(status.uses());
  std::string text;
  text += fmt::format("epoch       {}\n", status.epoch());
  text += fmt::format("revision    {}\n", status.revision());
  text += fmt::format("store       {}\n", Escaped(status.store()));
  text += fmt::format("jobs        {} queued, {} live\n", status.jobs_queued(), status.jobs_live());
  text += fmt::format("nodes       {}, {} ready\n", status.nodes(), status.nodes_ready());
  const char* const mark = status.simulated_gpus() ? " (some simulated)" : "";
  if (!uses.empty()) text += fmt::format("gpu time    {}{}\n", uses, mark);
  text += fmt::format("last pass   {}.{:03} ms\n", status.last_pass_us() / 1000, status.last_pass_us() % 1000);
  text += fmt::format("outage      {}\n",
                      status.outage() ? "yes: so many nodes are silent that none is declared lost" : "no");
  return text;
}

Status RunStatus(CommandContext& context) {
  Result<glim::v1::GetSchedulerStatusResponse> response =
      context.client.Call(&glim::v1::AdminApi::Stub::GetSchedulerStatus, glim::v1::GetSchedulerStatusRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["scheduler"] = MessageJson(*response);
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(StatusLines(*response));
  }
  return Status::Ok();
}

Status RunReturn(CommandContext& context, const std::string& node) {
  glim::v1::ReturnNodeRequest request;
  request.set_node(node);
  Result<glim::v1::ReturnNodeResponse> response = context.client.Call(&glim::v1::AdminApi::Stub::ReturnNode, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["node"] = node;
    document["state"] = response->state();
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("node {} is {}", node, response->state()));
  }
  return Status::Ok();
}

}  // namespace

void AddAdmin(Syntax app, Selection* selection) {
  Syntax admin = app.AddGroup("admin", "For operators");
  admin.AddCommand("status", "Show how the scheduler is doing").OnChosen([=] { selection->run = RunStatus; });

  AddAdminConfig(admin, selection);
  AddAdminReport(admin, selection);
  AddAdminAccounts(admin, selection);

  const auto node_name = std::make_shared<std::string>();
  Syntax node = admin.AddGroup("node", "About one node");
  Syntax command = node.AddCommand("return", "Make a quarantined or lost node schedulable again");
  command.Option("NODE", node_name.get(), "the node's name", Presence::kRequired);
  command.OnChosen(
      [=] { selection->run = [node_name](CommandContext& context) { return RunReturn(context, *node_name); }; });
}

}  // namespace glim::cli
