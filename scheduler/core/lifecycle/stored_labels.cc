#include "scheduler/core/lifecycle/stored_labels.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/hardware_differs.h"
#include "scheduler/core/lifecycle/node_labels.h"
#include "scheduler/core/lifecycle/node_remove.h"

namespace glim::core {
namespace {

bool Names(const std::vector<std::string>& fields, const std::string& field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

std::string TextOf(const std::string& field, const NodeLabels& labels, const std::string& address) {
  if (field == "pool") return labels.pool;
  if (field == "zone") return labels.zone;
  if (field == "leaf") return labels.leaf;
  if (field == "gpu_type") return labels.gpu_type;
  if (field == "gpus") return std::to_string(labels.gpu_count);
  if (field == "nvlink") return ToString(labels.nvlink);
  return field == "nic" ? labels.nic : address;
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : text; }

std::string Differences(const NodeConnected& said, const NodeIdentity& stored) {
  std::string words;
  for (const char* field : kLabelFields) {
    if (!Names(stored.labelled_fields, field) || Names(said.defaults, field)) continue;
    const std::string agent = TextOf(field, said.labels, said.address);
    const std::string store = TextOf(field, stored.labels, stored.address);
    if (agent == store) continue;
    words += (words.empty() ? "its agent says " : "; ") + std::string(field) + " " + OrNone(agent) +
             ", the store says " + OrNone(store);
  }
  return words;
}

Status NoIdentity(const std::string& name) {
  return Status(StatusCode::kFailedPrecondition, "node " + name +
                                                     " has no identity: its agent's own options say "
                                                     "what it is")
      .WithReason("NO_IDENTITY")
      .WithField("node")
      .WithFix("change the options of its agent, and start that again; or invite it: glim admin node invite " + name);
}

Status FewerGpus(const Node& node) {
  return Status(StatusCode::kFailedPrecondition, "node " + node.name + " is in use by job " +
                                                     std::to_string(node.holder.job.value) +
                                                     ", which counts on its GPUs")
      .WithReason("NODE_IN_USE")
      .WithField("gpus")
      .WithFix("wait until that job has left the node, or leave gpus out");
}

Status CheckFields(const std::vector<std::string>& fields) {
  std::string all;
  for (const char* field : kLabelFields) all += (all.empty() ? "" : ", ") + std::string(field);
  if (fields.empty()) return InvalidArgument("fields", "no label was given", "give at least one of " + all);
  for (const std::string& field : fields) {
    if (std::find(std::begin(kLabelFields), std::end(kLabelFields), field) != std::end(kLabelFields)) continue;
    return InvalidArgument("fields", "'" + field + "' is no label", "use " + all);
  }
  return Status::Ok();
}

// Of what holds, or is to hold at its release.
NodeLabels NextLabels(const Node& node) { return node.relabelled ? node.next_labels : node.labels; }

const Node* Registered(const ClusterState& state, const std::string& name) {
  const auto known = state.index().node_by_name.find(name);
  return known == state.index().node_by_name.end() ? nullptr : state.FindNode(known->second);
}

}  // namespace

LabelsInForce SettleHello(Changes& changes, const NodeConnected& event) {
  const NodeIdentity* stored = changes.state().identity().nodes.Find(event.name);
  if (!stored) return {event.labels, event.labels, event.address, ""};
  LabelsInForce in_force{event.labels, {}, event.address, Differences(event, *stored)};
  TakeLabels(stored->labelled_fields, stored->labels, stored->address, in_force.labels, in_force.address);
  NodeIdentity seeded = *stored;
  seeded.labels = in_force.labels;
  seeded.address = in_force.address;
  seeded.labelled = true;
  seeded.labelled_fields.assign(std::begin(kLabelFields), std::end(kLabelFields));
  // One that was there before it had an identity: what is missing of its GPUs stays missing.
  const Node* known = Registered(changes.state(), event.name);
  if (known && !Names(stored->labelled_fields, "gpus")) {
    seeded.labels.gpu_count = std::max(seeded.labels.gpu_count, known->labels.gpu_count);
  }
  in_force.labels = seeded.labels;
  if (seeded != *stored) changes.ChangeIdentity({{std::move(seeded)}});
  in_force.seen = in_force.labels;
  in_force.seen.gpu_count = std::min(in_force.labels.gpu_count, event.labels.gpu_count);
  return in_force;
}

void ApplyLabel(Changes& changes, const LabelNode& event) {
  const NodeIdentity* stored = changes.state().identity().nodes.Find(event.name);
  const Node* registered = Registered(changes.state(), event.name);
  Status& status = changes.reply().status;
  if (!stored) {
    status = registered ? NoIdentity(event.name) : NoSuchNode(event.name);
    return;
  }
  if (status = CheckFields(event.fields); !status.ok()) return;
  const bool counts_gpus = Names(event.fields, "gpus");
  const bool runs = registered && RunsSomething(changes.state(), *registered);
  if (runs && counts_gpus && event.labels.gpu_count < registered->labels.gpu_count) {
    status = FewerGpus(*registered);
    return;
  }
  NodeIdentity next = *stored;
  TakeLabels(event.fields, event.labels, event.address, next.labels, next.address);
  next.labelled = true;
  for (const std::string& field : event.fields) {
    if (!Names(next.labelled_fields, field)) next.labelled_fields.push_back(field);
  }
  if (next != *stored) changes.ChangeIdentity({{std::move(next)}});
  changes.reply().state = "now";
  if (!registered) return;

  const Node before = *registered;
  Node row = before;
  NodeLabels labels = NextLabels(row);
  std::string address = row.address;
  TakeLabels(event.fields, event.labels, event.address, labels, address);
  if (counts_gpus && !runs) row.labels.gpu_count = labels.gpu_count;  // fewer are no fault if an operator says so
  HearLabels(changes.state(), row, labels);
  if (!runs) row.address = address;
  if (row.state == NodeState::kReady) row.message.clear();  // what its agent says otherwise
  const bool waits = row.relabelled || (runs && address != row.address);
  changes.Write(std::move(row));
  SettleLabels(changes, before);
  AcceptHardware(changes, before.id);
  if (waits) changes.reply().state = "at_release";
}

}  // namespace glim::core
