#include "cli/commands/node_list.h"

#include <utility>

#include "cli/commands/account_change.h"
#include "cli/text/option_names.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr std::uint32_t kNodesAPage = 500;

Result<std::vector<glim::v1::Node>> ListNodes(Client& client, glim::v1::ListNodesRequest request) {
  std::vector<glim::v1::Node> nodes;
  request.set_page_size(kNodesAPage);
  do {
    auto page = client.Call(&glim::v1::ClientApi::Stub::ListNodes, request);
    if (!page.ok()) return WithOptionNames(page.status());
    for (auto& node : *page->mutable_nodes()) nodes.push_back(std::move(node));
    if (page->next_page_token() == request.page_token()) break;  // a server that does not get on
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return nodes;
}

void PrintJson(Output& output, const std::vector<glim::v1::Node>& nodes) {
  Json document = NewDocument();
  document["nodes"] = Json::array();
  for (const auto& node : nodes) document["nodes"].push_back(MessageJson(node));
  output.Data(DumpJson(document));
}

bool IsFiltered(const NodeFilters& filters) {
  return !filters.pool.empty() || !filters.zone.empty() || !filters.states.empty() || filters.cordoned;
}

}  // namespace

void AddNodeFilters(Syntax command, NodeFilters* filters) {
  command.Option("--pool", &filters->pool, "only this pool's");
  command.Option("--zone", &filters->zone, "only this zone's");
  command.ParsedOption("--state",
                       "only these, as the lists show them: ready, silent, lost, quarantined, refused, cordoned, "
                       "draining, drained; a comma between two",
                       [filters](const std::string& words) {
                         for (std::string& word : WordsOf(words)) filters->states.push_back(std::move(word));
                         return std::string();
                       });
  command.Flag("--cordoned", &filters->cordoned, "only those that an operator or health has taken out");
}

Status NoSuchNode(const std::string& name) {
  return Status(StatusCode::kNotFound, "no node " + name)
      .WithReason("NO_SUCH_NODE")
      .WithField("node")
      .WithFix("'glim nodes' lists the nodes");
}

Status ShowNodes(CommandContext& context, const NodeFilters& filters) {
  glim::v1::ListNodesRequest request;
  request.set_pool(filters.pool);
  request.set_zone(filters.zone);
  for (const std::string& state : filters.states) request.add_states(state);
  request.set_cordoned(filters.cordoned);
  const auto nodes = ListNodes(context.client, std::move(request));
  if (!nodes.ok()) return nodes.status();
  if (context.output.json()) {
    PrintJson(context.output, *nodes);
  } else if (nodes->empty()) {
    context.output.Note(IsFiltered(filters) ? "no such nodes" : "no nodes: none has an agent that has registered");
  } else {
    context.output.Data(NodesTable(*nodes, Now(), context.output.colour()));
  }
  return Status::Ok();
}

Status ShowNode(CommandContext& context, const std::string& name) {
  glim::v1::ListNodesRequest request;
  request.set_name(name);
  auto nodes = ListNodes(context.client, std::move(request));
  if (!nodes.ok()) return nodes.status();
  std::erase_if(*nodes, [&](const glim::v1::Node& node) { return node.name() != name; });
  if (nodes->empty()) return NoSuchNode(name);
  if (context.output.json()) {
    PrintJson(context.output, *nodes);
  } else {
    context.output.Data(NodeText(nodes->front(), Now(), context.output.colour()));
  }
  return Status::Ok();
}

}  // namespace glim::cli
