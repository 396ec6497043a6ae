#include <algorithm>
#include <memory>
#include <utility>

#include "nodeagent/hardware/node_parts.h"
#include "nodeagent/hardware/nvml.h"

namespace glim::nodeagent {
namespace {

// Of each GPU those that its links lead to. A link to a switch leads to all that have one, too.
void AddLinks(const Nvml& nvml, std::vector<GpuPart>* gpus) {
  std::vector<std::vector<NvmlLink>> links;
  for (const GpuPart& gpu : *gpus) {
    Result<std::vector<NvmlLink>> found = nvml.Links(gpu.index);
    links.push_back(found.ok() ? std::move(found).value() : std::vector<NvmlLink>());
  }
  const auto on_switch = [](const NvmlLink& link) { return link.active && link.to_switch; };
  for (std::size_t i = 0; i < gpus->size(); ++i) {
    const bool switched = std::any_of(links[i].begin(), links[i].end(), on_switch);
    for (std::size_t k = 0; k < gpus->size(); ++k) {
      if (i == k) continue;
      const std::string& other = (*gpus)[k].pci;
      const bool linked = std::any_of(links[i].begin(), links[i].end(), [&](const NvmlLink& link) {
        return link.active && !link.to_switch && link.remote_pci == other;
      });
      const bool both = switched && std::any_of(links[k].begin(), links[k].end(), on_switch);
      if (linked || both) (*gpus)[i].nvlink.push_back((*gpus)[k].index);
    }
  }
}

}  // namespace

GpuParts FindGpus(const SysTree& tree, const std::string& library) {
  GpuParts parts;
  parts.asked = true;
  const auto fail = [&](const Status& status) {
    parts.error = status.message();
    parts.fix = status.fix();
    return parts;
  };
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(library);
  if (!nvml.ok()) return fail(nvml.status());
  parts.warnings = (*nvml)->warnings();
  const Result<std::uint32_t> count = (*nvml)->Count();
  if (!count.ok()) return fail(count.status());
  std::string with_mig;
  for (std::uint32_t index = 0; index < *count; ++index) {
    const Result<NvmlGpu> found = (*nvml)->Gpu(index);
    if (!found.ok()) {
      parts.warnings.push_back(found.status().message());
      continue;
    }
    if (found->mig) with_mig += (with_mig.empty() ? "" : ", ") + std::to_string(index) + " (" + found->uuid + ")";
    parts.gpus.push_back(
        {index, found->uuid, found->name, found->memory_bytes, found->pci, tree.NumaNodeOf(found->pci), {}});
  }
  AddLinks(**nvml, &parts.gpus);
  if (with_mig.empty()) return parts;
  return fail(Status(StatusCode::kFailedPrecondition, "MIG is on at GPU " + with_mig + ": Glim gives whole GPUs")
                  .WithFix("switch MIG off with `nvidia-smi -mig 0`, reset the GPU or start the node anew"));
}

}  // namespace glim::nodeagent
