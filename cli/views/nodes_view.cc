#include <fmt/format.h>

#include "cli/gpus.h"
#include "cli/render_table.h"
#include "cli/time_text.h"
#include "cli/views/views.h"
#include "cli/words.h"

namespace glim::cli {
namespace {

std::string RefText(const glim::v1::AttemptRef& ref) {
  return ref.job_id() == 0 ? "-" : fmt::format("{}.{}", ref.job_id(), ref.number());
}

std::string NodeNote(const glim::v1::Node& node) {
  std::string note = node.message();
  if (node.orphans_size() > 0) {
    note += fmt::format("{}{} task(s) that Glim does not know, left alone", note.empty() ? "" : "; ",
                        node.orphans_size());
  }
  return note;
}

}  // namespace

std::string NodesTable(const std::vector<glim::v1::Node>& nodes, TimePoint now, bool colour) {
  Table table({{"NODE", false, 40}, {"STATE"}, {"POOL", false, 16}, {"ZONE"}, {"LEAF"}, {"GPUS", true}, {"TYPE"},
               {"NVLINK"}, {"NIC"}, {"RUNTIME"}, {"HOLDER"}, {"CLAIM"}, {"HEARD"}, {"NOTE", false, 100}});
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
