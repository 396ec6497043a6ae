#include "nodeagent/devices/device_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "nodeagent/devices/cdi_folders.h"
#include "nodeagent/devices/cdi_spec.h"
#include "sdk/base/printable.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kAllGpus = "nvidia.com/gpu=all";
constexpr std::size_t kDevicesMax = 64;

bool IsOne(const DeviceChoice& choice, const char* word) {
  return choice.devices.size() == 1 && choice.devices[0] == word;
}

Result<NodeDevices> GpuDevices(const DeviceChoice& choice) {
  if (IsOne(choice, "nvidia")) return DriverDevices(choice.root);
  const CdiFiles files = ReadCdiFiles(choice.root);
  std::vector<std::string> words = choice.devices;
  if (IsOne(choice, "auto")) {
    if (!HasDevice(files, *ParseCdiName(kAllGpus))) {
      Result<NodeDevices> devices = DriverDevices(choice.root);
      if (devices.ok()) devices->notes.insert(devices->notes.end(), files.refused.begin(), files.refused.end());
      return devices;
    }
    words = {kAllGpus};
  }
  std::vector<CdiName> names;
  for (const std::string& word : words) {
    if (const std::optional<CdiName> name = ParseCdiName(word)) names.push_back(*name);
  }
  return ResolveCdi(files, names, {choice.root, choice.cdi_writable});
}

}  // namespace

Status CheckChoice(const DeviceChoice& choice) {
  const std::string fix =
      "use auto, nvidia, none, or names of CDI devices such as nvidia.com/gpu=all (`nvidia-ctk cdi list` has them)";
  if (choice.devices.empty() || choice.devices.size() > kDevicesMax) {
    return InvalidArgument("--devices", "--devices needs 1 to " + std::to_string(kDevicesMax) + " words", fix);
  }
  const bool word = IsOne(choice, "auto") || IsOne(choice, "nvidia") || IsOne(choice, "none");
  for (const std::string& name : choice.devices) {
    if (word || ParseCdiName(name)) continue;
    return InvalidArgument("--devices", "--devices \"" + Printable(name) + "\" is unknown", fix);
  }
  if (choice.infiniband == "auto" || choice.infiniband == "no") return Status::Ok();
  return InvalidArgument("--infiniband", "--infiniband \"" + Printable(choice.infiniband) + "\" is unknown",
                         "use auto or no");
}

bool GivesGpus(const DeviceChoice& choice) {
  if (IsOne(choice, "none")) return false;
  return !choice.simulated_gpus || !IsOne(choice, "auto");
}

Result<NodeDevices> DevicesOf(const DeviceChoice& choice, std::uint32_t gpus, bool in_image) {
  NodeDevices devices;
  devices.huge_page_kib = ReservedHugePages(choice.root);
  if (choice.infiniband == "auto") Join(FabricDevices(choice.root), &devices);
  if (gpus == 0 || !GivesGpus(choice)) return devices;
  Result<NodeDevices> found = GpuDevices(choice);
  if (!found.ok()) return found.status();
  Join(std::move(*found), &devices);
  if (in_image) ShowDriverLibraries(choice.root, &devices);
  return devices;
}

}  // namespace glim::nodeagent
