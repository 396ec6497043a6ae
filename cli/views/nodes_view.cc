#include <fmt/format.h>

#include "cli/text/gpus.h"
#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

std::string RefText(const glim::v1::AttemptRef& ref) {
  return ref.job_id() == 0 ? "-" : fmt::format("{}.{}", ref.job_id(), ref.number());
}

std::string NodeNote(const glim::v1::Node& node) {
  std::string note = node.message();
  if (node.orphans_size() > 0) {
    note +=
        fmt::format("{}{} task(s) that Glim does not know, left alone", note.empty() ? "" : "; ", node.orphans_size());
  }
  return note;
}

// A folder a line: paths may be long.
std::string Folders(const glim::v1::Node& node) {
  if (node.allowed_folders_size() == 0) return "any folder\n";
  std::string text;
  for (const std::string& folder : node.allowed_folders()) {
    text += fmt::format("{}{}\n", text.empty() ? "" : std::string(12, ' '), Escaped(folder));
  }
  return text;
}

}  // namespace

std::string NodeText(const glim::v1::Node& node, TimePoint now, bool colour) {
  const auto& labels = node.labels();
  std::string text = fmt::format("node {}\n", Tint(Escaped(node.name()), Style::kBold, colour));
  const auto add = [&text](const char* label, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<11} {}\n", label, Escaped(value));
  };
  text += fmt::format("{:<11} {}\n", "state", Tint(Escaped(node.state()), StateStyle(node.state()), colour));
  add("note", NodeNote(node));
  add("pool", labels.pool());
  add("zone", fmt::format("{}, leaf {}", labels.zone(), labels.leaf()));
  const std::string type = labels.gpu_type().empty() ? "" : " " + labels.gpu_type();
  add("gpus", GpuText(labels.gpu_count(), labels.simulated_gpus()) + type);
  add("links", fmt::format("nvlink {}, nic {}", labels.nvlink(), labels.nic()));
  add("runtime", node.runtime());
  add("agent", node.agent_version());
  add("holder", RefText(node.holder()));
  add("claim", RefText(node.claim()));
  add("heard", FormatAgo({node.last_heard_ms()}, now));
  return text + fmt::format("{:<11} {}", "allowed", Folders(node));
}

std::string NodesTable(const std::vector<glim::v1::Node>& nodes, TimePoint now, bool colour) {
  Table table({{"NODE", false, 40},
               {"STATE"},
               {"POOL", false, 16},
               {"ZONE"},
               {"LEAF"},
               {"GPUS", true},
               {"TYPE"},
               {"NVLINK"},
               {"NIC"},
               {"RUNTIME"},
               {"HOLDER"},
               {"CLAIM"},
               {"HEARD"},
               {"NOTE", false, 100}});
  for (const auto& node : nodes) {
    const auto& labels = node.labels();
    table.AddRow({node.name(), Cell(node.state(), StateStyle(node.state())), labels.pool(), labels.zone(),
                  labels.leaf(), GpuText(labels.gpu_count(), labels.simulated_gpus()), labels.gpu_type(),
                  labels.nvlink(), labels.nic(), node.runtime(), RefText(node.holder()), RefText(node.claim()),
                  FormatAgo({node.last_heard_ms()}, now), NodeNote(node)});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
