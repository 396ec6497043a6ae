// A node whose GPUs a test makes up, for the stand-in of CUDA's driver (standin_driver.h). Test code alone.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace glim::device::testing {

// `count` cards that are alike, each with so much memory.
inline nlohmann::json StandinNode(int count, std::size_t memory_kib = 1024) {
  nlohmann::json node = {{"gpus", nlohmann::json::array()}};
  for (int i = 0; i < count; ++i) {
    node["gpus"].push_back(
        {{"memory_kib", memory_kib}, {"pci", "0000:" + std::to_string(16 + i) + ":00.0"}});  // 0000:16:00.0
  }
  return node;
}

// From now on the next driver that is opened sees `node`, until this goes. `folder` is the test's.
class StandinGpus {
 public:
  StandinGpus(const std::string& folder, const nlohmann::json& node) {
    const std::string path = folder + "/gpus.json";
    std::ofstream(path) << node;
    ::setenv("GLIM_STANDIN_GPUS", path.c_str(), 1);
  }
  ~StandinGpus() { ::unsetenv("GLIM_STANDIN_GPUS"); }
  StandinGpus(const StandinGpus&) = delete;
  StandinGpus& operator=(const StandinGpus&) = delete;
};

}  // namespace glim::device::testing
