// For tests: a folder that stands for a node's "/", with device nodes of this machine's own memory devices in the place
// of GPUs (/dev/null, /dev/zero, /dev/full: character devices with the number 1).
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace glim::nodeagent {

constexpr unsigned kMemoryMajor = 1;
constexpr unsigned kNull = 3, kZero = 5, kFull = 7, kRandom = 8, kUrandom = 9, kKmsg = 11;

class FakeNode {
 public:
  explicit FakeNode(std::string root) : root_(std::move(root)) { std::filesystem::create_directories(root_ + "/dev"); }

  const std::string& root() const { return root_; }
  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    ::chmod((root_ + path).c_str(), mode);
  }
  // Needs CAP_MKNOD; false without.
  bool MakeDevice(const std::string& path, unsigned minor, unsigned major = kMemoryMajor, mode_t mode = 0666) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    return ::mknod((root_ + path).c_str(), S_IFCHR | mode, makedev(major, minor)) == 0 &&
           ::chmod((root_ + path).c_str(), mode) == 0;
  }
  void MakeDriver() const {
    Write("/proc/devices",
          "Character devices:\n  1 nvidia-frontend\n  1 nvidia-uvm\n  4 tty\n\nBlock devices:\n  1 x\n");
    std::filesystem::create_directories(root_ + "/proc/driver/nvidia/gpus");
  }
  // The `i`-th GPU as the driver shows it, beside the CPUs of a NUMA node; -1: the machine does not say which.
  void AddGpu(int i, int numa_node) const {
    const std::string address = "0000:0" + std::to_string(i + 1) + ":00.0";
    std::filesystem::create_directories(root_ + "/proc/driver/nvidia/gpus/" + address);
    Write("/sys/bus/pci/devices/" + address + "/numa_node", std::to_string(numa_node) + "\n");
  }
  void AddNumaNode(int id, const std::string& cpus) const {
    Write("/sys/devices/system/node/node" + std::to_string(id) + "/cpulist", cpus + "\n");
  }

 private:
  const std::string root_;
};

// Device nodes and strangers' files are made by root alone.
#define GLIM_AS_ROOT(suite)                             \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite); \
  INSTANTIATE_TEST_SUITE_P(AsRoot, suite,               \
                           testing::ValuesIn(::geteuid() == 0 ? std::vector<bool>{true} : std::vector<bool>{}))

}  // namespace glim::nodeagent
