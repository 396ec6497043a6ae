// glim nodes: every node, what it is and who has it; or one, with the folders that it gives to jobs.
#include <algorithm>
#include <memory>
#include <vector>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

Status NoNode(const std::string& name) {
  return Status(StatusCode::kNotFound, "no node " + name)
      .WithReason("NO_SUCH_NODE")
      .WithField("node")
      .WithFix("'glim nodes' lists the nodes");
}

// `name` empty: all.
Status RunNodes(CommandContext& context, const std::string& name) {
  Result<glim::v1::ListNodesResponse> response =
      context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, glim::v1::ListNodesRequest());
  if (!response.ok()) return response.status();
  if (!name.empty()) {
    auto& all = *response->mutable_nodes();
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& node) { return node.name() != name; }), all.end());
    if (all.empty()) return NoNode(name);
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["nodes"] = Json::array();
    for (const auto& node : response->nodes()) document["nodes"].push_back(MessageJson(node));
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (response->nodes_size() == 0) {
    context.output.Note("no nodes: none has an agent that has registered");
    return Status::Ok();
  }
  if (!name.empty()) {
    context.output.Data(NodeText(response->nodes(0), Now(), context.output.colour()));
    return Status::Ok();
  }
  const std::vector<glim::v1::Node> nodes(response->nodes().begin(), response->nodes().end());
  context.output.Data(NodesTable(nodes, Now(), context.output.colour()));
  return Status::Ok();
}

}  // namespace

void AddNodes(Syntax app, Selection* selection) {
  const auto name = std::make_shared<std::string>();
  Syntax command = app.AddCommand("nodes", "List the nodes, or show one");
  command.Option("node", name.get(), "a node's name: show that one, with the folders that it gives to jobs");
  command.OnChosen([=] { selection->run = [name](CommandContext& context) { return RunNodes(context, *name); }; });
}

}  // namespace glim::cli
