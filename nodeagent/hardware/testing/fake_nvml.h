// A libnvidia-ml.so for tests: NVML's real symbols with their real ABI, driven by a JSON file that each call reads.
//
// The file: the one that the variable GLIM_FAKE_NVML names; without that variable the library's own path and ".json",
// so that a program with an empty environment finds it beside a copy of the library.
//
//   {"driver": "535.129.03",
//    "init": 0,                       what nvmlInitWithFlags returns; every call's code may be set so by its symbol:
//    "codes": {"nvmlDeviceGetCount_v2": 999},
//    "hang": ["nvmlDeviceGetMemoryInfo_v2"],   these calls come back when the file says so no more
//    "gpus": [{"name": "NVIDIA A100-SXM4-80GB", "uuid": "GPU-1", "pci": [0, 23, 0], "memory_mib": 81920,
//              "used_mib": 500, "processes": [{"pid": 12, "mib": 300}], "graphics": [],
//              "mig": false, "mig_pending": false, "lost": false, "lost_handle": false,
//              "ecc": [0, 0, 0, 0],   volatile corrected, uncorrected, aggregate corrected, uncorrected
//              "rows": [0, 0, 0, 0],  corrected, uncorrected, pending, failed
//              "retired_pending": 0,
//              "links": [{"active": true, "switch": false, "pci": [0, 27, 0]}],
//              "throttle": 0, "clocks": [1410, 1410, 1593, 1593],   SM and its maximum, memory and its maximum
//              "pcie": [4, 4, 16, 16],  generation and its maximum, width and its maximum
//              "replays": 0, "busy": [0, 0], "celsius": 40}]}
//
// What a GPU does not say is not supported by it. "lost": every call about it but for its handle says GPU_IS_LOST;
// "lost_handle": that one, too. The library comes in two builds: fake-nvml has all symbols, fake-nvml-old lacks those
// of newer drivers.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sdk/io/write_file.h"

namespace glim::nodeagent {

// A GPU of a healthy node, with nobody on it. `number`: its place on the bus.
inline nlohmann::json FakeGpu(int number) {
  return {{"name", "NVIDIA A100-SXM4-80GB"},
          {"uuid", "GPU-0000-" + std::to_string(number)},
          {"pci", {0, 16 + number, 0}},
          {"memory_mib", 81920},
          {"used_mib", 500},
          {"processes", nlohmann::json::array()},
          {"mig", false},
          {"ecc", {0, 0, 0, 0}},
          {"rows", {0, 0, 0, 0}},
          {"links", nlohmann::json::array()},
          {"throttle", 0},
          {"clocks", {1410, 1410, 1593, 1593}},
          {"pcie", {4, 4, 16, 16}},
          {"replays", 0},
          {"busy", {0, 0}},
          {"celsius", 40}};
}

inline nlohmann::json FakeNode(int gpus) {
  nlohmann::json node = {{"driver", "535.129.03"}, {"gpus", nlohmann::json::array()}};
  for (int i = 0; i < gpus; ++i) node["gpus"].push_back(FakeGpu(i));
  return node;
}

// A copy of the library, and the node that it speaks of. Its test names the folder that it lies in.
class FakeNvml {
 public:
  // `built`: where the build has put it, BuiltFile("test/libfake-nvml.so").
  FakeNvml(const std::string& built, const std::string& folder, nlohmann::json says)
      : node(std::move(says)), path_(folder + "/libfake-nvml.so") {
    std::filesystem::copy_file(built, path_);
    Tell();
  }

  const std::string& path() const { return path_; }
  // From now on the library says what `node` says.
  void Tell() const {
    if (!WriteFileAtomically(path_ + ".json", node.dump(), Durability::kProcess).ok()) std::abort();
  }

  nlohmann::json node;

 private:
  const std::string path_;
};

}  // namespace glim::nodeagent
