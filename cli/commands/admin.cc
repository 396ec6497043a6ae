// glim admin status, glim admin node return and remove, glim admin outage resolve, and what else operators ask.
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

std::string OutageAdvice(std::uint32_t silent) {
  return fmt::format(
      "yes: {} nodes are silent, so many that none is declared lost\n"
      "            Mend the network, or what keeps their agents ('glim nodes' lists them): their jobs go on.\n"
      "            If they will not come back: 'glim admin outage resolve' restarts their jobs elsewhere.",
      silent);
}

std::string StatusLines(const glim::v1::GetSchedulerStatusResponse& status) {
  const std::string uses = UsesLine(status.uses());
  std::string text;
  text += fmt::format("epoch       {}\n", status.epoch());
  text += fmt::format("revision    {}\n", status.revision());
  text += fmt::format("store       {}\n", Escaped(status.store()));
  if (status.store_away_since_ms() > 0) {
    text += fmt::format("            cannot be reached since {}: nothing can be changed, what is shown is of then\n",
                        FormatRfc3339(TimePoint{status.store_away_since_ms()}));
  }
  text += fmt::format("jobs        {} queued, {} live\n", status.jobs_queued(), status.jobs_live());
  text += fmt::format("nodes       {}, {} ready\n", status.nodes(), status.nodes_ready());
  const char* const mark = status.simulated_gpus() ? " (some simulated)" : "";
  if (!uses.empty()) text += fmt::format("gpu time    {}{}\n", uses, mark);
  text += fmt::format("last pass   {}.{:03} ms\n", status.last_pass_us() / 1000, status.last_pass_us() % 1000);
  text += fmt::format("outage      {}\n", status.outage() ? OutageAdvice(status.nodes_silent()) : "no");
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

Status RunRemove(CommandContext& context, const std::string& node, bool connected) {
  glim::v1::RemoveNodeRequest request;
  request.set_node(node);
  request.set_connected(connected);
  Result<glim::v1::RemoveNodeResponse> response = context.client.Call(&glim::v1::AdminApi::Stub::RemoveNode, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["node"] = node;
    document["removed"] = true;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("node {} is removed: a machine of that name may register", node));
  }
  return Status::Ok();
}

Status RunResolve(CommandContext& context) {
  Result<glim::v1::ResolveOutageResponse> response =
      context.client.Call(&glim::v1::AdminApi::Stub::ResolveOutage, glim::v1::ResolveOutageRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["nodes_lost"] = response->nodes_lost();
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("{} {} judged lost", response->nodes_lost(),
                                    response->nodes_lost() == 1 ? "node is" : "nodes are"));
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

  const auto connected = std::make_shared<bool>(false);
  Syntax remove = node.AddCommand("remove", "Take a node out of the cluster: a machine of its name may register");
  remove.Option("NODE", node_name.get(), "the node's name", Presence::kRequired);
  remove.Flag("--connected", connected.get(), "also while its agent is connected: it registers anew at once");
  remove.OnChosen(
      [=] { selection->run = [=](CommandContext& context) { return RunRemove(context, *node_name, *connected); }; });

  Syntax outage = admin.AddGroup("outage", "So many nodes silent at once that none is declared lost");
  outage.AddCommand("resolve", "Judge the silent nodes lost: their jobs restart elsewhere").OnChosen([=] {
    selection->run = RunResolve;
  });
}

}  // namespace glim::cli
