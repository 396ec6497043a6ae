// glim admin budget set, rm and ls: how much GPU-time the jobs of a team may use.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/admin_operate.h"
#include "cli/commands/command.h"
#include "cli/commands/tried_change.h"
#include "cli/text/render_json.h"
#include "cli/views/budget_view.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;

constexpr std::int64_t kGpuHoursMax = 1'000'000'000;

struct BudgetOptions {
  std::string team;
  std::int64_t gpu_hours = 0;
  bool restart = false;
  bool remove = false;
  ChangeOptions change;
};
using BudgetOptionsPtr = std::shared_ptr<BudgetOptions>;

Status RunBudgetChange(CommandContext& context, const BudgetOptions& options) {
  glim::v1::SetBudgetRequest request;
  request.set_team(options.team);
  request.set_gpu_ms_max(options.gpu_hours * Hours(1).ms);
  request.set_restart(options.restart);
  request.set_remove(options.remove);
  return MakeAsTried(context, options.change, request, &AdminApi::Stub::SetBudget, BudgetChangeText,
                     [&](const glim::v1::SetBudgetResponse& answer) {
                       const char* const verb = options.remove ? "take away" : answer.has_before() ? "change" : "make";
                       return fmt::format("{} the budget of team {}?", verb, options.team);
                     });
}

Status RunBudgetList(CommandContext& context, const BudgetOptions&) {
  const auto list = context.client.Call(&AdminApi::Stub::ListBudgets, glim::v1::ListBudgetsRequest());
  if (!list.ok()) return list.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document.update(MessageJson(*list));
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(BudgetTable(*list, context.output.colour()));
  }
  return Status::Ok();
}

using BudgetRun = Status (*)(CommandContext&, const BudgetOptions&);

Syntax AddBudgetCommand(Syntax group, Selection* selection, const BudgetOptionsPtr& options, const char* name,
                        const char* help, BudgetRun run) {
  Syntax command = group.AddCommand(name, help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

}  // namespace

void AddAdminBudget(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<BudgetOptions>();
  Syntax budget = admin.AddGroup("budget", "How much GPU-time the jobs of a team may use");

  Syntax set = AddBudgetCommand(budget, selection, options, "set", "Give a team a budget, or another", RunBudgetChange);
  set.Option("TEAM", &options->team, "the team", Presence::kRequired);
  set.ParsedOption(
      "--gpu-hours", "so many GPU-hours: while they are used up none of its jobs starts, and what runs runs on",
      [options](const std::string& word) { return ReadWhole(word, 1, kGpuHoursMax, &options->gpu_hours); },
      Presence::kRequired);
  set.Flag("--restart", &options->restart, "count from now on: what has been used so far does not count any more");
  AddAskOptions(set, &options->change);
  set.Example("glim admin budget set vision --gpu-hours 20000");
  set.Example("glim admin budget set vision --gpu-hours 20000 --restart -y");

  Syntax remove = budget.AddCommand("rm", "Take a team's budget away");
  remove.Alias("remove");
  remove.OnChosen([=] {
    options->remove = true;
    selection->run = [=](CommandContext& context) { return RunBudgetChange(context, *options); };
  });
  remove.Option("TEAM", &options->team, "the team", Presence::kRequired);
  AddAskOptions(remove, &options->change);
  remove.Example("glim admin budget rm vision");

  Syntax list = AddBudgetCommand(budget, selection, options, "ls", "List the teams' budgets and what is used of them",
                                 RunBudgetList);
  list.Example("glim admin budget ls");
}

}  // namespace glim::cli
