#include "cli/views/node_change_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/gpus.h"
#include "cli/text/text.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

constexpr int kSilentNamed = 20;
constexpr Duration kInvitationDefault = Hours(1);

std::string Head(const glim::v1::Node& node) { return fmt::format("node {}\n", Escaped(node.name())); }

std::string StateLine(const glim::v1::Node& node) {
  if (node.state().empty()) return "  no agent of that name has registered\n";
  const std::string why = node.message().empty() ? "" : ": " + node.message();
  return fmt::format("  - {}{}\n", Escaped(node.state()), Escaped(why));
}

std::string JobLine(const glim::v1::Node& node, const char* what) {
  if (node.holder().job_id() == 0) return "";
  return fmt::format("  job {} is there: {}\n", node.holder().job_id(), what);
}

std::string LabelOf(const glim::v1::NodeLabels& labels, const std::string& address, const std::string& field) {
  if (field == "pool") return labels.pool();
  if (field == "zone") return labels.zone();
  if (field == "leaf") return labels.leaf();
  if (field == "gpu_type") return labels.gpu_type();
  if (field == "gpus") return std::to_string(labels.gpu_count());
  if (field == "nvlink") return labels.nvlink();
  return field == "nic" ? labels.nic() : address;
}

std::string OrNone(const std::string& value) { return value.empty() ? "none" : Escaped(value); }

}  // namespace

std::string NodeReturnText(const glim::v1::Node& node) {
  std::string text = Head(node);
  if (node.state() == "quarantined") {
    text += StateLine(node) + "  + jobs start there again\n";
  } else {
    text += fmt::format("  it is {}, and stays so\n", Escaped(node.state()));
  }
  if (node.suspect_until_ms() > 0) {
    text +=
        fmt::format("  - left out while other nodes fit: {}\n  + as good as any other\n", Escaped(node.suspect_why()));
  }
  if (node.lemon()) text += "  - jobs failed by it again and again\n  + its failures count anew\n";
  return text;
}

std::string NodeRemoveText(const glim::v1::Node& node, bool connected) {
  const auto& labels = node.labels();
  std::string text = Head(node) + StateLine(node);
  if (!node.state().empty()) {
    text += fmt::format("  - pool {}, zone {}, {} GPUs\n", OrNone(labels.pool()), OrNone(labels.zone()),
                        GpuText(labels.gpu_count(), labels.simulated_gpus()));
  }
  if (connected) {
    return text + "  + it registers anew at once, with its certificate and its labels, and with the GPUs that it has\n";
  }
  return text +
         "  + gone: what it alone has of saves is given up, its certificate, its open invitation and its labels go;\n"
         "    a machine of its name may register\n";
}

std::string NodeRevokeText(const glim::v1::Node& node) {
  return Head(node) + StateLine(node) +
         "  + its certificate counts no more, and its agent's connection ends; an invitation lets it in again\n" +
         JobLine(node, "it runs on until the node is judged lost");
}

std::string NodeLabelText(const glim::v1::Node& node, const glim::v1::LabelNodeRequest& request) {
  std::string text = Head(node);
  if (node.state().empty()) text += StateLine(node);
  for (const std::string& field : request.fields()) {
    if (!node.state().empty()) {
      text += fmt::format("  - {} {}\n", field, OrNone(LabelOf(node.labels(), node.address(), field)));
    }
    text += fmt::format("  + {} {}\n", field, OrNone(LabelOf(request.labels(), request.address(), field)));
  }
  if (!node.hardware_differs().empty()) {
    text += fmt::format("  - labels differ, no job starts there: {}\n", Escaped(node.hardware_differs()));
    text += "  + what its labels and its hardware then differ in is accepted: jobs start there again\n";
  }
  return text + JobLine(node, "in force when it has left");
}

std::string NodeInviteText(const glim::v1::Node& node, const glim::v1::InviteNodeRequest& request) {
  const Duration lasts = request.ttl_ms() > 0 ? Duration{request.ttl_ms()} : kInvitationDefault;
  std::string text = Head(node);
  if (!node.state().empty()) text += fmt::format("  it is there already, {}\n", Escaped(node.state()));
  text += fmt::format("  + whoever brings the token within {} becomes it, once{}\n", RoundedDurationText(lasts),
                      request.login() ? ": a host for logins, which runs no jobs" : "");
  const auto& labels = request.labels();
  for (const char* const field : {"pool", "zone", "leaf", "gpu_type", "nvlink", "nic", "address"}) {
    const std::string value = LabelOf(labels, request.address(), field);
    if (!value.empty()) text += fmt::format("  + {} {}\n", field, Escaped(value));
  }
  return labels.gpu_count() == 0 ? text : text + fmt::format("  + gpus {}\n", labels.gpu_count());
}

std::string OutageEndText(const glim::v1::ListNodesResponse& silent) {
  std::string names;
  std::string jobs;
  for (int i = 0; i < silent.nodes_size(); ++i) {
    const auto& node = silent.nodes(i);
    if (i < kSilentNamed) names += (names.empty() ? "" : ", ") + node.name();
    const std::string job = std::to_string(node.holder().job_id());
    const std::string all = ", " + jobs + ", ";
    if (node.holder().job_id() == 0 || all.find(", " + job + ", ") != std::string::npos) continue;
    jobs += (jobs.empty() ? "" : ", ") + job;
  }
  if (silent.nodes_size() > kSilentNamed) names += fmt::format(" and {} more", silent.nodes_size() - kSilentNamed);
  std::string text = silent.nodes_size() == 0 ? "no node is silent\n"
                                              : fmt::format("  - silent: {}\n  + judged lost\n", Escaped(names));
  if (!jobs.empty()) text += fmt::format("  jobs that restart elsewhere, from their last save: {}\n", jobs);
  return text;
}

}  // namespace glim::cli
