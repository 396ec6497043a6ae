// glim nodes: every node, what it is and who has it.
#include "cli/commands/command.h"
#include "cli/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

Status Run(CommandContext& context) {
  Result<glim::v1::ListNodesResponse> response =
      context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, glim::v1::ListNodesRequest());
  if (!response.ok()) return response.status();
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
  const std::vector<glim::v1::Node> nodes(response->nodes().begin(), response->nodes().end());
  context.output.Data(NodesTable(nodes, Now(), context.output.colour()));
  return Status::Ok();
}

}  // namespace

void AddNodes(Syntax app, Selection* selection) {
  app.AddCommand("nodes", "List the nodes").OnChosen([=] { selection->run = Run; });
}

}  // namespace glim::cli
