// glim nodes: every node, what it is and who has it; or one, with its folders, its hardware and its health.
#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/node_list.h"

namespace glim::cli {

void AddNodes(Syntax app, Selection* selection) {
  struct Options {
    std::string name;
    NodeFilters filters;
  };
  const auto options = std::make_shared<Options>();
  Syntax command = app.AddCommand("nodes", "List the nodes, or show one");
  command.Example("glim nodes --pool a100 --state silent,lost");
  command.Option("node", &options->name, "a node's name: show that one, with its folders, its hardware and its health");
  AddNodeFilters(command, &options->filters);
  command.OnChosen([=] {
    selection->run = [options](CommandContext& context) {
      return options->name.empty() ? ShowNodes(context, options->filters) : ShowNode(context, options->name);
    };
  });
}

}  // namespace glim::cli
