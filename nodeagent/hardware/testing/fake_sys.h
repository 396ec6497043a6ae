// A folder that stands for "/": what the kernel tells of a node in /sys and /proc, as a test says it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace glim::nodeagent {

class FakeSys {
 public:
  explicit FakeSys(std::string root) : root_(std::move(root)) {}
  const std::string& root() const { return root_; }

  FakeSys& Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text << "\n";
    return *this;
  }
  // A link at `path` to the folder `target`, which is made; both from the root.
  FakeSys& Link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(root_ + "/" + target);
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::filesystem::create_directory_symlink(root_ + "/" + target, root_ + "/" + path);
    return *this;
  }
  // A device on the bus.
  FakeSys& Pci(const std::string& address, const std::string& kind, int numa_node, const std::string& vendor) {
    const std::string device = "sys/devices/pci0000:00/" + address;
    Link("sys/bus/pci/devices/" + address, device);
    Write(device + "/class", kind).Write(device + "/vendor", vendor);
    return Write(device + "/numa_node", std::to_string(numa_node));
  }
  FakeSys& Gpu(const std::string& address, int numa_node) { return Pci(address, "0x030200", numa_node, "0x10de"); }
  // An RDMA device with one port, on the bus.
  FakeSys& Port(const std::string& device, const std::string& address, const std::string& layer) {
    Pci(address, "0x020700", 1, "0x15b3");
    Link("sys/class/infiniband/" + device + "/device", "sys/devices/pci0000:00/" + address);
    const std::string port = "sys/class/infiniband/" + device + "/ports/1";
    return Write(port + "/link_layer", layer)
        .Write(port + "/rate", "200 Gb/sec (4X HDR)")
        .Write(port + "/state", "4: ACTIVE");
  }

 private:
  const std::string root_;
};

}  // namespace glim::nodeagent
