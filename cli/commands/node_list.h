// The list of nodes, whole or filtered, and one node: what `glim nodes` and `glim admin node ls` and `show` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace glim::cli {

struct NodeFilters {
  std::string pool, zone;
  std::vector<std::string> states;
  bool cordoned = false;
};

// --pool, --zone, --state, --cordoned.
void AddNodeFilters(Syntax command, NodeFilters* filters);

Status NoSuchNode(const std::string& name);
Status ShowNodes(CommandContext& context, const NodeFilters& filters);
Status ShowNode(CommandContext& context, const std::string& name);

}  // namespace glim::cli
