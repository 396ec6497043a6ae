// glim admin node return, remove, invite, revoke and label; admin_node_out.cc has those that take nodes out.
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/asked_change.h"
#include "cli/commands/node_list.h"
#include "cli/text/errors.h"
#include "cli/text/option_names.h"
#include "cli/text/text.h"
#include "cli/views/identity_view.h"
#include "cli/views/node_change_view.h"
#include "cli/views/operate_view.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;

struct NodeOptions {
  std::string node;
  bool connected = false;
  std::optional<std::string> pool, zone, leaf, gpu_type, nvlink, nic, address;
  std::optional<std::int64_t> gpus;
  bool login = false;
  Duration ttl;
  ChangeOptions change;
};
using NodeOptionsPtr = std::shared_ptr<NodeOptions>;

// The node as it is listed; without a state where no agent of that name has registered.
Result<glim::v1::Node> NodeNow(CommandContext& context, const std::string& name) {
  const auto list = context.client.Call(&glim::v1::ClientApi::Stub::ListNodes, ListRequestFor(name));
  if (!list.ok()) return list.status();
  glim::v1::Node node = NodeOf(*list, name);
  node.set_name(name);
  return node;
}

// Says by the node as it is what will become of it.
std::function<Result<std::string>()> InWordsOf(CommandContext& context, const NodeOptions& options,
                                               std::function<Result<std::string>(const glim::v1::Node&)> words) {
  return [&context, &options, words = std::move(words)]() -> Result<std::string> {
    const auto node = NodeNow(context, options.node);
    return node.ok() ? words(*node) : node.status();
  };
}

Status RunNodeReturn(CommandContext& context, const NodeOptions& options) {
  AskedChange change;
  change.in_words = InWordsOf(context, options, [](const glim::v1::Node& node) -> Result<std::string> {
    if (node.state().empty()) return NoSuchNode(node.name());
    return NodeReturnText(node);
  });
  change.question = fmt::format("return node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) {
    glim::v1::ReturnNodeRequest request;
    request.set_node(options.node);
    const auto response = context.client.Call(&AdminApi::Stub::ReturnNode, request);
    if (!response.ok()) return response.status();
    (*document)["state"] = response->state();
    context.output.Note(fmt::format("node {} is {}", options.node, response->state()));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

// As the scheduler would refuse it.
Status CheckRemove(const glim::v1::Node& node, bool connected) {
  const std::uint64_t job = node.holder().job_id() != 0 ? node.holder().job_id() : node.claim().job_id();
  if (job != 0) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("node {} is in use by job {}", node.name(), job))
        .WithReason("NODE_IN_USE")
        .WithField("NODE")
        .WithFix(fmt::format("wait until that job has left the node, or cancel it: glim cancel {}", job));
  }
  if (node.state() != "ready" || connected) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, fmt::format("the agent of node {} is connected", node.name()))
      .WithReason("NODE_CONNECTED")
      .WithField("NODE")
      .WithFix("stop that agent first, or give --connected: then it registers anew at once");
}

Status RunNodeRemove(CommandContext& context, const NodeOptions& options) {
  AskedChange change;
  change.in_words = InWordsOf(context, options, [&](const glim::v1::Node& node) -> Result<std::string> {
    if (Status may = CheckRemove(node, options.connected); !may.ok()) return may;
    return NodeRemoveText(node, options.connected);
  });
  change.question = fmt::format("remove node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) {
    glim::v1::RemoveNodeRequest request;
    request.set_node(options.node);
    request.set_connected(options.connected);
    const auto response = context.client.Call(&AdminApi::Stub::RemoveNode, request);
    if (!response.ok()) return response.status();
    (*document)["removed"] = true;
    context.output.Note(fmt::format("node {} is removed: a machine of that name may register", options.node));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

glim::v1::NodeLabels LabelsOf(const NodeOptions& options) {
  glim::v1::NodeLabels labels;
  labels.set_pool(options.pool.value_or(""));
  labels.set_zone(options.zone.value_or(""));
  labels.set_leaf(options.leaf.value_or(""));
  labels.set_gpu_type(options.gpu_type.value_or(""));
  labels.set_gpu_count(static_cast<std::uint32_t>(options.gpus.value_or(0)));
  labels.set_nvlink(options.nvlink.value_or(""));
  labels.set_nic(options.nic.value_or(""));
  return labels;
}

// The names of those that were given.
std::vector<std::string> FieldsOf(const NodeOptions& options) {
  std::vector<std::string> fields;
  const auto note = [&fields](bool given, const char* name) {
    if (given) fields.emplace_back(name);
  };
  note(options.pool.has_value(), "pool");
  note(options.zone.has_value(), "zone");
  note(options.leaf.has_value(), "leaf");
  note(options.gpu_type.has_value(), "gpu_type");
  note(options.gpus.has_value(), "gpus");
  note(options.nvlink.has_value(), "nvlink");
  note(options.nic.has_value(), "nic");
  note(options.address.has_value(), "address");
  return fields;
}

// The token is no part of it: it would land in the shell's history, and every user of the node could read it.
std::string EnrolCommand(const std::string& node, const glim::v1::InviteNodeResponse& invited) {
  return fmt::format("glim-agent enrol --scheduler {} --ca-fingerprint {} --name {} --state-dir /var/lib/glim-agent",
                     ShellQuote(invited.listen()), ShellQuote(invited.ca_fingerprint()), ShellQuote(node));
}

Status RunNodeInvite(CommandContext& context, const NodeOptions& options) {
  glim::v1::InviteNodeRequest request;
  request.set_node(options.node);
  request.set_ttl_ms(options.ttl.ms);
  *request.mutable_labels() = LabelsOf(options);
  request.set_address(options.address.value_or(""));
  request.set_login(options.login);
  AskedChange change;
  change.in_words = InWordsOf(context, options, [&](const glim::v1::Node& node) -> Result<std::string> {
    return NodeInviteText(node, request);
  });
  change.question = fmt::format("invite node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) -> Status {
    const auto response = context.client.Call(&AdminApi::Stub::InviteNode, request);
    if (!response.ok()) return WithOptionNames(response.status());
    const std::string command = EnrolCommand(options.node, *response);
    (*document)["command"] = command;
    document->update(MessageJson(*response));
    context.output.Note(fmt::format("run this on {}; it asks for the token below, which counts once and {}:",
                                    options.node, EndText(response->expires_at_ms(), Now())));
    if (!context.output.json()) context.output.Data(command + "\n" + response->token() + "\n");
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

Status RunNodeRevoke(CommandContext& context, const NodeOptions& options) {
  AskedChange change;
  change.in_words = InWordsOf(context, options,
                              [](const glim::v1::Node& node) -> Result<std::string> { return NodeRevokeText(node); });
  change.question = fmt::format("revoke node {}?", options.node);
  change.document["node"] = options.node;
  change.make = [&](Json* document) {
    glim::v1::RevokeNodeRequest request;
    request.set_node(options.node);
    const auto response = context.client.Call(&AdminApi::Stub::RevokeNode, request);
    if (!response.ok()) return response.status();
    (*document)["revoked"] = true;
    context.output.Note(fmt::format(
        "node {}: its certificate counts no more; 'glim admin node invite' lets it in again", options.node));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

Status RunNodeLabel(CommandContext& context, const NodeOptions& options) {
  glim::v1::LabelNodeRequest request;
  request.set_node(options.node);
  *request.mutable_labels() = LabelsOf(options);
  request.set_address(options.address.value_or(""));
  const std::vector<std::string> fields = FieldsOf(options);
  for (const std::string& field : fields) request.add_fields(field);
  if (fields.empty()) return UsageError("no label was given", "--pool, --zone, --leaf, --gpu-type, --gpus, ...");
  AskedChange change;
  change.in_words = InWordsOf(context, options, [&](const glim::v1::Node& node) -> Result<std::string> {
    return NodeLabelText(node, request);
  });
  change.question = fmt::format("label node {}?", options.node);
  change.document["node"] = options.node;
  change.document["fields"] = fields;
  change.make = [&](Json* document) {
    const auto response = context.client.Call(&AdminApi::Stub::LabelNode, request);
    if (!response.ok()) return WithOptionNames(response.status());
    (*document)["applied"] = response->applied();
    context.output.Note(fmt::format("node {}: {} {}", options.node, fmt::join(fields, ", "),
                                    response->applied() ? "in force" : "in force when its job has left"));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

using NodeRun = Status (*)(CommandContext&, const NodeOptions&);

Syntax AddNodeCommand(Syntax group, Selection* selection, const NodeOptionsPtr& options, const char* name,
                      const char* help, NodeRun run) {
  Syntax command = group.AddCommand(name, help);
  command.Example(fmt::format("glim admin node {} n7", name));
  command.Option("NODE", &options->node, "the node's name", Presence::kRequired);
  AddAskOptions(command, &options->change);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

void AddLabelOptions(Syntax command, NodeOptions* options) {
  command.Option("--pool", &options->pool, "the pool that jobs name");
  command.Option("--zone", &options->zone, "its zone of the network");
  command.Option("--leaf", &options->leaf, "the switch that it hangs on");
  command.Option("--gpu-type", &options->gpu_type, "what its GPUs are");
  command.Option("--gpus", &options->gpus, "how many");
  command.Option("--nvlink", &options->nvlink, "none, pair or full");
  command.Option("--nic", &options->nic, "infiniband, roce or ethernet");
  command.Option("--address", &options->address, "where the other nodes of a job reach it");
}

}  // namespace

void AddAdminNode(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<NodeOptions>();
  Syntax node = admin.AddGroup("node", "About one node");
  AddNodesOut(node, selection);
  AddNodeValidate(node, selection);
  AddNodeCommand(node, selection, options, "return", "End a quarantine, and forget what was held against the node",
                 RunNodeReturn);
  AddNodeCommand(node, selection, options, "remove",
                 "Take a node out of the cluster: a machine of its name may register", RunNodeRemove)
      .Flag("--connected", &options->connected, "also while its agent is connected: it registers anew at once");
  Syntax invite =
      AddNodeCommand(node, selection, options, "invite",
                     "Let a machine become this node: prints what to run there, and a token", RunNodeInvite);
  AddLabelOptions(invite, options.get());
  invite.Flag("--login", &options->login, "a host where users log in: it runs no jobs, and may ask for their tokens");
  AddDurationOption(invite, "--ttl", &options->ttl, "how long the token counts (1h)");
  AddNodeCommand(node, selection, options, "revoke", "End a node's certificate, and its agent's connection, at once",
                 RunNodeRevoke);
  AddLabelOptions(AddNodeCommand(node, selection, options, "label", "Change a node's labels, from its next release on",
                                 RunNodeLabel),
                  options.get());
}

}  // namespace glim::cli
