// glim admin status, glim admin outage resolve, and the groups of what else operators ask.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/admin_accounts.h"
#include "cli/commands/admin_layout.h"
#include "cli/commands/admin_operate.h"
#include "cli/commands/asked_change.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/node_change_view.h"
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
    text += fmt::format("            nothing can be changed since {}, and what is shown is of then:\n            {}\n",
                        FormatRfc3339(TimePoint{status.store_away_since_ms()}), Escaped(status.store_away_why()));
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

Status RunResolve(CommandContext& context, const ChangeOptions& options) {
  AskedChange change;
  change.in_words = [&context]() -> Result<std::string> {
    const auto status =
        context.client.Call(&glim::v1::AdminApi::Stub::GetSchedulerStatus, glim::v1::GetSchedulerStatusRequest());
    if (!status.ok()) return status.status();
    if (!status->outage()) return std::string("there is no outage: nothing would change\n");
    glim::v1::ListNodesRequest request;
    request.add_states("silent");
    const auto silent = context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, request);
    if (!silent.ok()) return silent.status();
    return OutageEndText(*silent);
  };
  change.question = "judge the silent nodes lost?";
  change.make = [&context](Json* document) {
    const auto response =
        context.client.Call(&glim::v1::AdminApi::Stub::ResolveOutage, glim::v1::ResolveOutageRequest());
    if (!response.ok()) return response.status();
    (*document)["nodes_lost"] = response->nodes_lost();
    context.output.Note(fmt::format("{} {} judged lost", response->nodes_lost(),
                                    response->nodes_lost() == 1 ? "node is" : "nodes are"));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options, change);
}

}  // namespace

void AddAdmin(Syntax app, Selection* selection) {
  Syntax admin = app.AddGroup("admin", "For operators; some of it for everybody");
  Syntax status = admin.AddCommand("status", "Show how the scheduler is doing");
  status.Example("glim admin status");
  status.OnChosen([=] { selection->run = RunStatus; });

  AddAdminConfig(admin, selection);
  AddAdminReport(admin, selection);
  AddAdminAccounts(admin, selection);
  AddAdminLayout(admin, selection);
  AddAdminUsers(admin, selection);
  AddAdminToken(admin, selection);
  AddAdminNode(admin, selection);
  AddAdminJob(admin, selection);
  AddAdminKill(admin, selection);
  AddAdminReserve(admin, selection);
  AddAdminBudget(admin, selection);
  AddAdminSched(admin, selection);
  AddAdminAudit(admin, selection);
  AddAdminCa(admin, selection);

  Syntax outage = admin.AddGroup("outage", "So many nodes silent at once that none is declared lost");
  Syntax resolve = outage.AddCommand("resolve", "Judge the silent nodes lost: their jobs restart elsewhere");
  resolve.Example("glim admin outage resolve");
  const auto options = std::make_shared<ChangeOptions>();
  AddAskOptions(resolve, options.get());
  resolve.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunResolve(context, *options); }; });
}

}  // namespace glim::cli
