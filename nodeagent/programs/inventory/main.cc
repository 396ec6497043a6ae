// glim-inventory [--sys-root FOLDER] [--nvml LIBRARY | --no-gpus] [--output FD] [--watch COUNT]: what this node is made
// of. It asks NVIDIA's driver, which may hang, so that the agent does not.
//
// Without --watch it writes two lines of JSON (nodeagent/hardware/inventory.h), the second when the driver has
// answered, and ends. With --watch it reads questions, a number a line, from descriptor 3 until that ends, and answers
// each with who is on the first COUNT GPUs (nodeagent/hardware/gpu_use.h). Exit status 0, or 2 for words that it does
// not know.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "nodeagent/hardware/gpu_use.h"
#include "nodeagent/hardware/node_parts.h"
#include "nodeagent/hardware/nvml.h"

namespace glim::nodeagent {
namespace {

constexpr int kQuestions = 3;
constexpr std::size_t kQuestionBytesMax = 64;

struct Order {
  std::string root;
  std::string library = kNvmlLibrary;
  bool gpus = true;
  bool watch = false;
  std::uint32_t count = 0;
  int output = 1;
};

void Tell(int output, const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(output, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);  // nobody listens any more
    done += static_cast<std::size_t>(n);
  }
}

bool ParseOrder(int argc, char** argv, Order* order) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--no-gpus") {
      order->gpus = false;
      continue;
    }
    if (value == nullptr) return false;
    ++i;
    if (word == "--sys-root") {
      order->root = value;
    } else if (word == "--nvml") {
      order->library = value;
    } else if (word == "--output") {
      order->output = std::atoi(value);
    } else if (word == "--watch") {
      order->watch = true;
      order->count = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    } else {
      return false;
    }
  }
  return true;
}

GpuUse UseOf(const Nvml& nvml, std::uint32_t index) {
  GpuUse use;
  use.index = index;
  const Result<NvmlGpu> gpu = nvml.Gpu(index);
  if (gpu.ok()) use.uuid = gpu->uuid;
  const Result<NvmlUse> found = nvml.Use(index);
  if (!gpu.ok() || !found.ok()) {
    use.error = (gpu.ok() ? found.status() : gpu.status()).message();
    const std::string itself = "GPU " + std::to_string(index) + ": ";
    if (use.error.starts_with(itself)) use.error.erase(0, itself.size());
    return use;
  }
  use.used_bytes = found->memory_used_bytes;
  for (const NvmlProcess& process : found->processes) use.processes.push_back({process.pid, process.memory_bytes});
  return use;
}

// The library stays open: what it costs to open it is paid once, and the driver stays loaded as with its own daemon.
NodeUse UseOfAll(const Order& order, std::unique_ptr<Nvml>* nvml) {
  NodeUse use;
  if (!*nvml) {
    Result<std::unique_ptr<Nvml>> opened = Nvml::Open(order.library);
    if (!opened.ok()) {
      use.error = opened.status().message();
      return use;
    }
    *nvml = std::move(opened).value();
  }
  for (std::uint32_t index = 0; index < order.count; ++index) use.gpus.push_back(UseOf(**nvml, index));
  return use;
}

int Watch(const Order& order) {
  std::unique_ptr<Nvml> nvml;
  std::string line;
  for (;;) {
    char byte = 0;
    const ssize_t n = ::read(kQuestions, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;  // the agent has gone
    if (byte != '\n') {
      if (line.size() < kQuestionBytesMax) line += byte;
      continue;
    }
    const std::uint64_t number = std::strtoull(line.c_str(), nullptr, 10);
    line.clear();
    Tell(order.output, ToLine(number, UseOfAll(order, &nvml)));
  }
}

int Main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  Order order;
  if (!ParseOrder(argc, argv, &order)) {
    std::fputs("usage: glim-inventory [--sys-root FOLDER] [--nvml LIBRARY | --no-gpus]\n", stderr);
    return 2;
  }
  if (order.watch) return Watch(order);
  const SysTree tree(order.root);
  Tell(order.output, ToLine(FindParts(tree)));
  GpuParts gpus;
  if (order.gpus) gpus = FindGpus(tree, order.library);
  Tell(order.output, ToLine(gpus));
  return 0;
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) { return glim::nodeagent::Main(argc, argv); }
