// See standin_driver.h.
#include "sdk/device/testing/standin_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sdk/device/driver_types.h"
#include "sdk/device/testing/standin_memory.h"
#include "sdk/device/testing/standin_ptx.h"
#include "sdk/device/testing/standin_ptx_machine.h"

namespace glim::device::standin {
namespace {

using nlohmann::json;

constexpr DriverError kInvalidValueCode = 1, kInvalidPtx = 218, kNotFound = 500, kIllegalAddress = 700;
constexpr double kInstructionsPerSecond = 1e12;
constexpr double kThroughHostGbps = 10;

struct Card {
  json says;
  int index = 0;
  double seconds = 0;  // what it has done until now
  std::map<DeviceAddress, std::size_t> taken;

  std::size_t total() const { return says.value("memory_kib", std::size_t{1024}) << 10; }
  std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& [address, bytes] : taken) sum += bytes;
    return sum;
  }
};

struct Module {
  std::map<std::string, PtxKernel> kernels;
};

struct Node {
  static Node& Get() {
    static Node* const node = new Node;
    return *node;
  }
  std::mutex mutex;
  json says;
  std::vector<std::unique_ptr<Card>> cards;
};

thread_local Card* current = nullptr;

json ReadSays() {
  const char* const path = std::getenv("GLIM_STANDIN_GPUS");
  if (path == nullptr) return {{"init", kDriverNoDevice}};
  std::ifstream file(path);
  json says = json::parse(file, nullptr, /*allow_exceptions=*/false);
  return says.is_object() ? says : json{{"init", 999}};
}

Card* CardOf(int index) {
  Node& node = Node::Get();
  const auto at = static_cast<std::size_t>(index);
  return index < 0 || at >= node.cards.size() ? nullptr : node.cards[at].get();
}

DriverError CodeOf(const Card* card, const char* call) {
  if (card == nullptr) return kInvalidValueCode;
  return card->says.value("codes", json::object()).value(call, kDriverSuccess);
}

std::byte* Reach(DeviceAddress address, std::size_t bytes) {
  const Allocation found = Memory::Get().Find(reinterpret_cast<void*>(address));
  if (found.bytes == 0 || address + bytes > found.begin + found.bytes) return nullptr;
  return found.memory + (address - found.begin);
}

// What is broken shows whenever something was written.
void Stick(const Card& card) {
  if (!card.says.contains("stuck") || card.taken.empty()) return;
  const auto largest = std::max_element(card.taken.begin(), card.taken.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::size_t byte = card.says["stuck"]["byte"];
  if (byte >= largest->second) return;
  *Reach(largest->first + byte, 1) |= static_cast<std::byte>(card.says["stuck"]["bits"].get<int>());
}

DriverError Copy(std::byte* to, const void* from, std::size_t bytes, Card* of, double gbps) {
  if (to == nullptr || from == nullptr) return kIllegalAddress;
  std::memcpy(to, from, bytes);
  for (auto& card : Node::Get().cards) Stick(*card);
  of->seconds += static_cast<double>(bytes) / gbps / 1e9;
  return kDriverSuccess;
}

double PairGbps(const Card& from, const Card& to) {
  const json& says = Node::Get().says;
  const std::string key = std::to_string(from.index) + ">" + std::to_string(to.index);
  return says.value("pairs", json::object()).value(key, says.value("peer_gbps", 200.0));
}

// The kernel's arguments, as wide as it says.
std::vector<std::uint64_t> Arguments(const PtxKernel& kernel, void** arguments) {
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < kernel.parameter_bytes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments[i], kernel.parameter_bytes[i]);
    values.push_back(value);
  }
  return values;
}

struct Kernel {
  std::string name;
  const PtxKernel* code;
};

DriverError Launch(const Kernel& kernel, PtxLaunch launch) {
  Allocation last;
  launch.reach = [&last](std::uint64_t address, std::size_t bytes) -> std::byte* {
    if (address < last.begin || address + bytes > last.begin + last.bytes) {
      last = Memory::Get().Find(reinterpret_cast<void*>(address));
      if (last.bytes == 0 || address + bytes > last.begin + last.bytes) return nullptr;
    }
    return last.memory + (address - last.begin);
  };
  const std::optional<std::uint64_t> instructions = Execute(*kernel.code, launch);
  if (!instructions) return kIllegalAddress;
  const json wrong = current->says.value("wrong", json::object());
  if (wrong.value("kernel", "") == kernel.name) {
    *Reach(launch.arguments[2] + wrong["byte"].get<std::uint64_t>(), 1) ^=
        static_cast<std::byte>(wrong["bits"].get<int>());
  }
  Stick(*current);
  current->seconds += static_cast<double>(*instructions) / kInstructionsPerSecond / current->says.value("speed", 1.0);
  return kDriverSuccess;
}

const char* TextOf(DriverError error) {
  switch (error) {
    case kDriverOutOfMemory: return "out of memory";
    case kDriverNoDevice: return "no CUDA-capable device is detected";
    case kInvalidPtx: return "a PTX JIT compilation failed";
    case kIllegalAddress: return "an illegal memory access was encountered";
    case 214: return "uncorrectable ECC error encountered";
    case 802: return "system not yet initialized";
    case 999: return "unknown error";
    default: return "an error";
  }
}

}  // namespace
}  // namespace glim::device::standin

using namespace glim::device;           // NOLINT: definitions of a C interface
using namespace glim::device::standin;  // NOLINT

#define GLIM_WITH_CARD(call)                     \
  const std::lock_guard lock(Node::Get().mutex); \
  if (const DriverError code = CodeOf(current, call); code != kDriverSuccess) return code

extern "C" {

DriverError cuInit(unsigned) {
  Node& node = Node::Get();
  const std::lock_guard lock(node.mutex);
  node.says = ReadSays();
  node.cards.clear();
  current = nullptr;
  for (const json& says : node.says.value("gpus", json::array())) {
    auto card = std::make_unique<Card>();
    card->says = says;
    card->index = static_cast<int>(node.cards.size());
    node.cards.push_back(std::move(card));
  }
  return node.says.value("init", kDriverSuccess);
}
DriverError cuGetErrorString(DriverError error, const char** text) {
  *text = TextOf(error);
  return kDriverSuccess;
}
DriverError cuDeviceGetCount(int* count) {
  const std::lock_guard lock(Node::Get().mutex);
  *count = static_cast<int>(Node::Get().cards.size());
  return kDriverSuccess;
}
DriverError cuDeviceGet(int* device, int index) {
  const std::lock_guard lock(Node::Get().mutex);
  *device = index;
  return CodeOf(CardOf(index), "cuDeviceGet");
}
DriverError cuDeviceGetName(char* name, int bytes, int device) {
  const std::lock_guard lock(Node::Get().mutex);
  const std::string is = CardOf(device)->says.value("name", "NVIDIA A100-SXM4-80GB");
  is.copy(name, static_cast<std::size_t>(bytes) - 1);
  return kDriverSuccess;
}
DriverError cuDeviceGetAttribute(int* value, int attribute, int device) {
  const std::lock_guard lock(Node::Get().mutex);
  *value = attribute == kAttributeMultiprocessors   ? 4
           : attribute == kAttributeCapabilityMajor ? CardOf(device)->says.value("capability", 8)
                                                    : 0;
  return kDriverSuccess;
}
DriverError cuDeviceGetPCIBusId(char* address, int bytes, int device) {
  const std::lock_guard lock(Node::Get().mutex);
  const std::string is = CardOf(device)->says.value("pci", "0000:" + std::to_string(10 + device) + ":00.0");
  is.copy(address, static_cast<std::size_t>(bytes) - 1);
  return kDriverSuccess;
}
DriverError cuDeviceCanAccessPeer(int* can, int device, int peer) {
  const std::lock_guard lock(Node::Get().mutex);
  *can = PairGbps(*CardOf(device), *CardOf(peer)) > 0 ? 1 : 0;
  return kDriverSuccess;
}
DriverError cuDevicePrimaryCtxRetain(DriverHandle* context, int device) {
  const std::lock_guard lock(Node::Get().mutex);
  *context = CardOf(device);
  return CodeOf(CardOf(device), "cuDevicePrimaryCtxRetain");
}
DriverError cuDevicePrimaryCtxRelease_v2(int) { return kDriverSuccess; }
DriverError cuCtxSetCurrent(DriverHandle context) {
  current = static_cast<Card*>(context);
  return kDriverSuccess;
}
DriverError cuCtxEnablePeerAccess(DriverHandle, unsigned) { return kDriverSuccess; }
DriverError cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  GLIM_WITH_CARD("cuMemGetInfo");
  *total = current->total();
  *free = current->total() - current->used();
  return kDriverSuccess;
}
DriverError cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
  GLIM_WITH_CARD("cuMemAlloc");
  if (bytes == 0 || current->used() + bytes > current->total()) return kDriverOutOfMemory;
  *address = Number(Memory::Get().Allocate(bytes, current->index));
  current->taken[*address] = bytes;
  return kDriverSuccess;
}
DriverError cuMemFree_v2(DeviceAddress address) {
  GLIM_WITH_CARD("cuMemFree");
  if (current->taken.erase(address) == 0) return kInvalidValueCode;
  Memory::Get().Free(reinterpret_cast<void*>(address));
  return kDriverSuccess;
}
DriverError cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  GLIM_WITH_CARD("cuMemHostAlloc");
  *memory = std::malloc(bytes);
  return kDriverSuccess;
}
DriverError cuMemFreeHost(void* memory) {
  std::free(memory);
  return kDriverSuccess;
}
DriverError cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, std::size_t bytes, DriverHandle) {
  GLIM_WITH_CARD("cuMemcpyHtoDAsync");
  return Copy(Reach(to, bytes), from, bytes, current, current->says.value("to_device_gbps", 25.0));
}
DriverError cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes, DriverHandle) {
  GLIM_WITH_CARD("cuMemcpyDtoHAsync");
  return Copy(static_cast<std::byte*>(to), Reach(from, bytes), bytes, current,
              current->says.value("to_host_gbps", 25.0));
}
DriverError cuMemcpyPeerAsync(DeviceAddress to, DriverHandle to_card, DeviceAddress from, DriverHandle from_card,
                              std::size_t bytes, DriverHandle) {
  GLIM_WITH_CARD("cuMemcpyPeerAsync");
  const double gbps = PairGbps(*static_cast<Card*>(from_card), *static_cast<Card*>(to_card));
  return Copy(Reach(to, bytes), Reach(from, bytes), bytes, current, gbps > 0 ? gbps : kThroughHostGbps);
}
DriverError cuStreamCreate(DriverHandle* stream, unsigned) {
  GLIM_WITH_CARD("cuStreamCreate");
  *stream = current;
  return kDriverSuccess;
}
DriverError cuStreamSynchronize(DriverHandle) {
  GLIM_WITH_CARD("cuStreamSynchronize");
  return kDriverSuccess;
}
DriverError cuStreamDestroy_v2(DriverHandle) { return kDriverSuccess; }
DriverError cuEventCreate(DriverHandle* event, unsigned) {
  *event = new double(0);
  return kDriverSuccess;
}
DriverError cuEventRecord(DriverHandle event, DriverHandle) {
  GLIM_WITH_CARD("cuEventRecord");
  *static_cast<double*>(event) = current->seconds;
  return kDriverSuccess;
}
DriverError cuEventSynchronize(DriverHandle) { return kDriverSuccess; }
DriverError cuEventElapsedTime(float* ms, DriverHandle begin, DriverHandle end) {
  *ms = static_cast<float>((*static_cast<double*>(end) - *static_cast<double*>(begin)) * 1e3);
  return kDriverSuccess;
}
DriverError cuEventDestroy_v2(DriverHandle event) {
  delete static_cast<double*>(event);
  return kDriverSuccess;
}
DriverError cuModuleLoadData(DriverHandle* module, const void* image) {
  GLIM_WITH_CARD("cuModuleLoadData");
  std::string wrong;
  auto kernels = ReadPtx(static_cast<const char*>(image), &wrong);
  if (kernels.empty()) return kInvalidPtx;
  *module = new Module{std::move(kernels)};
  return kDriverSuccess;
}
DriverError cuModuleUnload(DriverHandle module) {
  delete static_cast<Module*>(module);
  return kDriverSuccess;
}
DriverError cuModuleGetFunction(DriverHandle* function, DriverHandle module, const char* name) {
  GLIM_WITH_CARD("cuModuleGetFunction");
  const auto& kernels = static_cast<Module*>(module)->kernels;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return kNotFound;
  // Functions live as long as the process: there are few.
  static auto* const functions = new std::vector<std::unique_ptr<Kernel>>;
  functions->push_back(std::make_unique<Kernel>(Kernel{name, &found->second}));
  *function = functions->back().get();
  return kDriverSuccess;
}
DriverError cuLaunchKernel(DriverHandle function, unsigned blocks_x, unsigned blocks_y, unsigned, unsigned threads,
                           unsigned, unsigned, unsigned, DriverHandle, void** arguments, void**) {
  GLIM_WITH_CARD("cuLaunchKernel");
  const Kernel& kernel = *static_cast<Kernel*>(function);
  return Launch(kernel, {.blocks_x = blocks_x,
                         .blocks_y = blocks_y,
                         .threads = threads,
                         .arguments = Arguments(*kernel.code, arguments),
                         .reach = {}});
}

}  // extern "C"
