// glim admin node ls, show, cordon, drain and uncordon: nodes that an operator takes out and gives back.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/command.h"
#include "cli/commands/node_list.h"
#include "cli/commands/tried_change.h"
#include "cli/text/text.h"
#include "cli/views/operate_view.h"

namespace glim::cli {
namespace {

using glim::v1::OperateApi;

struct OutOptions {
  std::string node;
  NodeFilters filters;
  Duration lasts, deadline;
  ChangeOptions change;
};
using OutOptionsPtr = std::shared_ptr<OutOptions>;

template <typename Request, typename Response>
Status ChangeNode(CommandContext& context, const OutOptions& options, const char* verb, Request request,
                  Method<OperateApi::Stub, Request, Response> method) {
  request.set_node(options.node);
  const auto before = context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, ListRequestFor(options.node));
  if (!before.ok()) return before.status();
  const auto in_words = [&](const Response& answer) {
    return NodeChangeText(NodeOf(*before, options.node), answer, Now(), context.output.colour());
  };
  const auto question = [&](const Response&) { return fmt::format("{} node {}?", verb, options.node); };
  return MakeAsTried(context, options.change, std::move(request), method, in_words, question);
}

Status RunCordon(CommandContext& context, const OutOptions& options) {
  glim::v1::CordonNodeRequest request;
  request.set_reason(options.change.reason);
  request.set_for_ms(options.lasts.ms);
  return ChangeNode(context, options, "cordon", request, &OperateApi::Stub::CordonNode);
}

Status RunDrain(CommandContext& context, const OutOptions& options) {
  glim::v1::DrainNodeRequest request;
  request.set_reason(options.change.reason);
  request.set_for_ms(options.lasts.ms);
  request.set_deadline_ms(options.deadline.ms);
  return ChangeNode(context, options, "drain", request, &OperateApi::Stub::DrainNode);
}

Status RunUncordon(CommandContext& context, const OutOptions& options) {
  return ChangeNode(context, options, "uncordon", glim::v1::UncordonNodeRequest(), &OperateApi::Stub::UncordonNode);
}

Status RunList(CommandContext& context, const OutOptions& options) { return ShowNodes(context, options.filters); }
Status RunShow(CommandContext& context, const OutOptions& options) { return ShowNode(context, options.node); }

using OutRun = Status (*)(CommandContext&, const OutOptions&);

Syntax AddOutCommand(Syntax group, Selection* selection, const OutOptionsPtr& options, const char* name,
                     const char* help, OutRun run) {
  Syntax command = group.AddCommand(name, help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

void AddName(Syntax command, OutOptions* options) {
  command.Option("NODE", &options->node, "the node's name", Presence::kRequired);
}

}  // namespace

void AddNodesOut(Syntax node, Selection* selection) {
  const auto options = std::make_shared<OutOptions>();
  Syntax list = AddOutCommand(node, selection, options, "ls", "List the nodes", RunList);
  AddNodeFilters(list, &options->filters);
  list.Example("glim admin node ls --cordoned");
  Syntax show = AddOutCommand(node, selection, options, "show", "Show one node", RunShow);
  AddName(show, options.get());
  show.Example("glim admin node show n7");

  Syntax cordon = AddOutCommand(node, selection, options, "cordon",
                                "Take a node out: no job starts there, and who is there stays", RunCordon);
  AddName(cordon, options.get());
  AddDurationOption(cordon, "--for", &options->lasts, "it comes back by itself after this; not given: not");
  AddChangeOptions(cordon, &options->change, Presence::kRequired);
  cordon.Example("glim admin node cordon n7 --for 2h --reason 'a new fan'");

  Syntax drain =
      AddOutCommand(node, selection, options, "drain",
                    "Empty a node: no job starts there, and who is there saves and goes on elsewhere", RunDrain);
  AddName(drain, options.get());
  AddDurationOption(drain, "--for", &options->lasts, "it comes back by itself after this; not given: not");
  AddDurationOption(drain, "--deadline", &options->deadline,
                    "who has not left after this, or at the end of its own grace if that is earlier, is stopped");
  AddChangeOptions(drain, &options->change, Presence::kRequired);
  drain.Example("glim admin node drain n7 --deadline 10m --reason 'a new fan'");

  Syntax uncordon =
      AddOutCommand(node, selection, options, "uncordon", "Give a node back that was taken out", RunUncordon);
  AddName(uncordon, options.get());
  AddAskOptions(uncordon, &options->change);
  uncordon.Example("glim admin node uncordon n7");
}

}  // namespace glim::cli
