// The library itself: see fake_nvml.h. A shared object, linked by nobody; tests open it as programs open the real one.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "nodeagent/hardware/nvml_abi.h"

#define GLIM_NVML_SYMBOL extern "C" __attribute__((visibility("default")))

namespace {

using namespace glim::nodeagent::nvml;  // NOLINT(google-build-using-namespace): its names are what this file is about
using nlohmann::json;

constexpr useconds_t kAskedAgain = 2000;

std::string PathOfTheFile() {
  if (const char* named = std::getenv("GLIM_FAKE_NVML")) return named;
  Dl_info self{};
  ::dladdr(reinterpret_cast<void*>(&PathOfTheFile), &self);
  return std::string(self.dli_fname) + ".json";
}

// What tells one content of the file from the next.
struct Content {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = -1;
  std::int64_t changed_ns = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

Content ContentOf(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return {};
  return {seen.st_dev, seen.st_ino, seen.st_size, seen.st_ctim.tv_sec * 1'000'000'000 + seen.st_ctim.tv_nsec};
}

// The file is parsed when it has changed: the real library's answers cost no more than a call.
const json& ReadNode() {
  thread_local std::pair<Content, json> known{{}, json::object()};
  const std::string path = PathOfTheFile();
  const Content now = ContentOf(path);
  if (now == known.first) return known.second;
  std::ifstream file(path);
  json node = json::parse(file, nullptr, /*allow_exceptions=*/false);
  known = {now, node.is_object() ? std::move(node) : json::object()};
  return known.second;
}

// The value under `key`, in place; a null one if it is not there.
const json& In(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

bool Hangs(const json& node, const char* symbol) {
  const json& hang = In(node, "hang");
  return std::any_of(hang.begin(), hang.end(), [&](const json& name) { return name == symbol; });
}

// What every call does first: hangs as long as it is told to, or fails as it is told to. The node of now.
Return Enter(const char* symbol, const json** node) {
  for (*node = &ReadNode(); Hangs(**node, symbol); *node = &ReadNode()) ::usleep(kAskedAgain);
  const json& codes = In(**node, "codes");
  return codes.is_object() ? codes.value(symbol, kSuccess) : kSuccess;
}

Device HandleOf(std::size_t index) { return reinterpret_cast<Device>(index + 1); }

// The GPU itself, and what it says under `key`.
Return About(const char* symbol, Device device, const char* key, json* value) {
  const json* node = nullptr;
  if (const Return code = Enter(symbol, &node); code != kSuccess) return code;
  const std::size_t index = reinterpret_cast<std::size_t>(device) - 1;
  const json& gpus = In(*node, "gpus");
  if (index >= gpus.size()) return kInvalidArgument;
  if (gpus[index].value("lost", false)) return kGpuIsLost;
  if (!gpus[index].contains(key)) return kNotSupported;
  *value = gpus[index][key];
  return kSuccess;
}

Return Text(const std::string& text, char* out, unsigned bytes) {
  if (text.size() >= bytes) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

void FillPci(const json& place, PciInfo* pci) {
  *pci = {};
  pci->domain = place.at(0);
  pci->bus = place.at(1);
  pci->device = place.at(2);
  std::snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%04X:%02X:%02X.0", pci->domain & 0xffffu,
                pci->bus & 0xffu, pci->device & 0xffu);
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xffu,
                pci->device & 0xffu);
}

unsigned long long Bytes(const json& mebibytes) { return mebibytes.get<unsigned long long>() << 20; }

Return NumberAt(const char* symbol, Device device, const char* key, std::size_t place, unsigned* out) {
  json value;
  const Return code = About(symbol, device, key, &value);
  if (code == kSuccess) *out = value.is_array() ? value.at(place).get<unsigned>() : value.get<unsigned>();
  return code;
}

Return Processes(const char* symbol, Device device, const char* key, unsigned* count, ProcessInfo* out) {
  json list;
  const Return code = About(symbol, device, key, &list);
  if (code != kSuccess) return code;
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (list.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < list.size(); ++i) {
    out[i] = {list[i].at("pid"), list[i].contains("mib") ? Bytes(list[i]["mib"]) : ~0ull, ~0u, ~0u};
  }
  return kSuccess;
}

Return LinkOf(const char* symbol, Device device, unsigned number, json* link) {
  json links;
  const Return code = About(symbol, device, "links", &links);
  if (code != kSuccess) return code;
  if (number >= links.size()) return kInvalidArgument;
  *link = links[number];
  return kSuccess;
}

// As driver 580 on an H200: opened without attaching GPUs, it has none.
bool& AttachesGpus() {
  static bool attaches = true;
  return attaches;
}

}  // namespace

GLIM_NVML_SYMBOL Return nvmlInitWithFlags(unsigned flags) {
  AttachesGpus() = (flags & kInitNoAttach) == 0;
  const json* node = nullptr;
  const Return code = Enter("nvmlInitWithFlags", &node);
  return code == kSuccess ? node->value("init", kSuccess) : code;
}

GLIM_NVML_SYMBOL Return nvmlShutdown() { return kSuccess; }

GLIM_NVML_SYMBOL const char* nvmlErrorString(Return code) {
  switch (code) {
    case kSuccess: return "Success";
    case kNotSupported: return "Not Supported";
    case kDriverNotLoaded: return "Driver Not Loaded";
    case kTimeout: return "Timeout";
    case kGpuIsLost: return "GPU is lost";
    case kResetRequired: return "GPU requires reset";
    case kVersionMismatch: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

GLIM_NVML_SYMBOL Return nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  const json* node = nullptr;
  const Return code = Enter("nvmlSystemGetDriverVersion", &node);
  return code == kSuccess ? Text(node->value("driver", "1.0"), text, bytes) : code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetCount_v2(unsigned* count) {
  const json* node = nullptr;
  const Return code = Enter("nvmlDeviceGetCount_v2", &node);
  const std::size_t attached = AttachesGpus() ? In(*node, "gpus").size() : 0;
  if (code == kSuccess) *count = static_cast<unsigned>(attached);
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const json* node = nullptr;
  if (const Return code = Enter("nvmlDeviceGetHandleByIndex_v2", &node); code != kSuccess) return code;
  const json& gpus = In(*node, "gpus");
  if (index >= gpus.size()) return kInvalidArgument;
  if (gpus[index].value("lost_handle", false)) return kGpuIsLost;
  *device = HandleOf(index);
  return kSuccess;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetName(Device device, char* text, unsigned bytes) {
  json value;
  const Return code = About("nvmlDeviceGetName", device, "name", &value);
  return code == kSuccess ? Text(value, text, bytes) : code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetUUID(Device device, char* text, unsigned bytes) {
  json value;
  const Return code = About("nvmlDeviceGetUUID", device, "uuid", &value);
  return code == kSuccess ? Text(value, text, bytes) : code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  json value;
  const Return code = About("nvmlDeviceGetPciInfo_v3", device, "pci", &value);
  if (code == kSuccess) FillPci(value, pci);
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  json total, used;
  Return code = About("nvmlDeviceGetMemoryInfo", device, "memory_mib", &total);
  if (code == kSuccess) code = About("nvmlDeviceGetMemoryInfo", device, "used_mib", &used);
  if (code == kSuccess) *memory = {Bytes(total), Bytes(total) - Bytes(used), Bytes(used)};
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessInfo* out) {
  return Processes("nvmlDeviceGetComputeRunningProcesses_v2", device, "processes", count, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned* count, ProcessInfo* out) {
  return Processes("nvmlDeviceGetGraphicsRunningProcesses_v2", device, "graphics", count, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetNvLinkState(Device device, unsigned number, int* active) {
  json link;
  const Return code = LinkOf("nvmlDeviceGetNvLinkState", device, number, &link);
  if (code == kSuccess) *active = link.value("active", true) ? 1 : 0;
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned number, PciInfo* pci) {
  json link;
  const Return code = LinkOf("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, number, &link);
  if (code == kSuccess) FillPci(link.at("pci"), pci);
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetTotalEccErrors(Device device, int error, int counter, unsigned long long* count) {
  json value;
  const Return code = About("nvmlDeviceGetTotalEccErrors", device, "ecc", &value);
  if (code == kSuccess) *count = value.at(static_cast<std::size_t>(2 * counter + error));
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetRetiredPagesPendingStatus(Device device, int* pending) {
  json value;
  const Return code = About("nvmlDeviceGetRetiredPagesPendingStatus", device, "retired_pending", &value);
  if (code == kSuccess) *pending = value;
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetClockInfo(Device device, int clock, unsigned* mhz) {
  return NumberAt("nvmlDeviceGetClockInfo", device, "clocks", clock == kClockSm ? 0 : 2, mhz);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetMaxClockInfo(Device device, int clock, unsigned* mhz) {
  return NumberAt("nvmlDeviceGetMaxClockInfo", device, "clocks", clock == kClockSm ? 1 : 3, mhz);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  json value;
  const Return code = About("nvmlDeviceGetCurrentClocksThrottleReasons", device, "throttle", &value);
  if (code == kSuccess) *reasons = value;
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* out) {
  return NumberAt("nvmlDeviceGetCurrPcieLinkGeneration", device, "pcie", 0, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* out) {
  return NumberAt("nvmlDeviceGetMaxPcieLinkGeneration", device, "pcie", 1, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* out) {
  return NumberAt("nvmlDeviceGetCurrPcieLinkWidth", device, "pcie", 2, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* out) {
  return NumberAt("nvmlDeviceGetMaxPcieLinkWidth", device, "pcie", 3, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned* out) {
  return NumberAt("nvmlDeviceGetPcieReplayCounter", device, "replays", 0, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetUtilizationRates(Device device, Utilization* busy) {
  json value;
  const Return code = About("nvmlDeviceGetUtilizationRates", device, "busy", &value);
  if (code == kSuccess) *busy = {value.at(0), value.at(1)};
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetTemperature(Device device, int, unsigned* celsius) {
  return NumberAt("nvmlDeviceGetTemperature", device, "celsius", 0, celsius);
}

// What drivers of before 2021 do not have.
#ifndef GLIM_FAKE_NVML_OLD

GLIM_NVML_SYMBOL Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory->version != kMemoryV2) return kInvalidArgument;
  json total, used;
  Return code = About("nvmlDeviceGetMemoryInfo_v2", device, "memory_mib", &total);
  if (code == kSuccess) code = About("nvmlDeviceGetMemoryInfo_v2", device, "used_mib", &used);
  if (code == kSuccess) *memory = {kMemoryV2, Bytes(total), 0, Bytes(total) - Bytes(used), Bytes(used)};
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  return Processes("nvmlDeviceGetComputeRunningProcesses_v3", device, "processes", count, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  return Processes("nvmlDeviceGetGraphicsRunningProcesses_v3", device, "graphics", count, out);
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  json on, next;
  const Return code = About("nvmlDeviceGetMigMode", device, "mig", &on);
  if (code != kSuccess) return code;
  *current = on.get<bool>() ? 1 : 0;
  const bool changes = About("nvmlDeviceGetMigMode", device, "mig_pending", &next) == kSuccess;
  *pending = changes ? (next.get<bool>() ? 1 : 0) : *current;
  return kSuccess;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned number, int* type) {
  json link;
  const Return code = LinkOf("nvmlDeviceGetNvLinkRemoteDeviceType", device, number, &link);
  if (code == kSuccess) *type = link.value("switch", false) ? kLinkToSwitch : kLinkToGpu;
  return code;
}

GLIM_NVML_SYMBOL Return nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                                  unsigned* pending, unsigned* failed) {
  json value;
  const Return code = About("nvmlDeviceGetRemappedRows", device, "rows", &value);
  if (code != kSuccess) return code;
  *corrected = value.at(0);
  *uncorrected = value.at(1);
  *pending = value.at(2);
  *failed = value.at(3);
  return kSuccess;
}

#endif
