#include "scheduler/core/model/hardware_check.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace glim::core {
namespace {

// "nvidia", "a100", "sxm4", "80gb" of "NVIDIA A100-SXM4-80GB".
std::vector<std::string> TokensOf(const std::string& text) {
  std::vector<std::string> tokens;
  bool open = false;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (!std::isalnum(letter)) {
      open = false;
      continue;
    }
    if (!std::exchange(open, true)) tokens.emplace_back();
    tokens.back() += static_cast<char>(std::tolower(letter));
  }
  return tokens;
}

// How many of the name's words from `first` on are `word` when they are written as one; 0: they never are.
std::size_t WordsThatAre(const std::string& word, const std::vector<std::string>& name, std::size_t first) {
  std::string joined;
  for (std::size_t i = first; i < name.size() && joined.size() < word.size(); ++i) {
    joined += name[i];
    if (joined == word) return i - first + 1;
  }
  return 0;
}

bool FitsType(const std::string& label, const std::string& driver_name) {
  const std::vector<std::string> name = TokensOf(driver_name);
  std::size_t at = 0;
  for (const std::string& word : TokensOf(label)) {
    std::size_t taken = 0;
    while (at < name.size() && (taken = WordsThatAre(word, name, at)) == 0) ++at;
    if (taken == 0) return false;
    at += taken;
  }
  return true;
}

// "none", "8 (NVIDIA A100-SXM4-80GB)", "8 (NVIDIA A100-SXM4-80GB, NVIDIA H100 PCIe)"
std::string FoundGpus(const NodeInventory& inventory) {
  if (inventory.gpus.empty()) return "none";
  std::set<std::string> types;
  for (const GpuDevice& gpu : inventory.gpus) types.insert(gpu.type);
  std::string names;
  for (const std::string& type : types) names += (names.empty() ? "" : ", ") + type;
  return std::to_string(inventory.gpus.size()) + " (" + names + ")";
}

// Of each of several GPUs: to one other at least; to all others.
bool HasLinks(const NodeInventory& inventory, NvLink label) {
  for (const GpuDevice& gpu : inventory.gpus) {
    std::set<std::uint32_t> others;
    for (const GpuDevice& other : inventory.gpus) {
      const bool linked = std::find(gpu.nvlink.begin(), gpu.nvlink.end(), other.index) != gpu.nvlink.end();
      if (linked && other.index != gpu.index) others.insert(other.index);
    }
    if (others.empty() || (label == NvLink::kFull && others.size() + 1 < inventory.gpus.size())) return false;
  }
  return true;
}

bool HasNic(const NodeInventory& inventory, const std::string& kind) {
  return std::any_of(inventory.nics.begin(), inventory.nics.end(),
                     [&](const NicDevice& nic) { return nic.kind == kind; });
}

}  // namespace

std::string HardwareDifferences(const NodeLabels& labels, const NodeInventory& inventory) {
  if (labels.simulated_gpus) return "";
  std::string words;
  const auto add = [&words](const std::string& said, const std::string& found) {
    words += (words.empty() ? "its labels say " : "; they say ") + said + ", its agent found " + found;
  };
  const std::string type = labels.gpu_type.empty() ? "" : " of " + labels.gpu_type;
  const bool wrong_count = labels.gpu_count > 0 && labels.gpu_count != inventory.gpus.size();
  const bool wrong_type =
      labels.gpu_count > 0 && std::any_of(inventory.gpus.begin(), inventory.gpus.end(),
                                          [&](const GpuDevice& gpu) { return !FitsType(labels.gpu_type, gpu.type); });
  if (wrong_count || wrong_type) {
    add(std::to_string(labels.gpu_count) + (labels.gpu_count == 1 ? " GPU" : " GPUs") + type, FoundGpus(inventory));
  }
  const bool links = labels.gpu_count > 1 && inventory.gpus.size() > 1 && labels.nvlink != NvLink::kNone;
  if (links && !HasLinks(inventory, labels.nvlink)) {
    const bool full = labels.nvlink == NvLink::kFull;
    add(std::string("nvlink ") + ToString(labels.nvlink),
        full ? "GPUs without a link to each of the others" : "GPUs without a link to another");
  }
  for (const char* const kind : {"infiniband", "roce"}) {
    if (labels.nic == kind && !HasNic(inventory, kind)) add("nic " + labels.nic, "no such card");
  }
  return words;
}

}  // namespace glim::core
