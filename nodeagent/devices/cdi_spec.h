// A file of the Container Device Interface (https://github.com/cncf-tags/container-device-interface, SPEC.md, versions
// 0.3.0 to 0.8.0 and 1.0.0), read from JSON or YAML, which contains JSON. Pure.
//
// The file says by which edits of a container's configuration a device is given. Only what the agent applies itself is
// understood; hooks, programs that the file wants to be run as root, are kept by name to be refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr std::size_t kCdiBytesMax = 1 << 20;
inline constexpr std::size_t kCdiDevicesMax = 1024;
inline constexpr std::size_t kCdiEditsMax = 1024;  // of each kind in one device

struct CdiDeviceNode {
  std::string path;       // in the container
  std::string host_path;  // on the node; `path` if the file does not say
  std::string type;       // c, u, b or p; empty: as it is on the node
  std::optional<std::int64_t> major;
  std::optional<std::int64_t> minor;
  std::string permissions;  // of r, w, m; empty: rw
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  bool read_only = false;  // as the file says
};

struct CdiEdits {
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<CdiDeviceNode> nodes;
  std::vector<CdiMount> mounts;
  std::vector<std::string> hooks;   // "createContainer /usr/bin/nvidia-ctk"
  std::vector<std::string> others;  // names of edits that the agent does not make
};

struct CdiDevice {
  std::string name;
  CdiEdits edits;
};

struct CdiSpec {
  std::string kind;  // "nvidia.com/gpu"
  CdiEdits edits;    // of whoever gets any of the devices
  std::vector<CdiDevice> devices;
};

// A refusal has line, column and the field's path. `source` is the file's name.
Result<CdiSpec> ParseCdi(std::string_view text, const std::string& source);

// "nvidia.com/gpu=all": a kind and a device of it.
struct CdiName {
  std::string kind;
  std::string device;
};
std::optional<CdiName> ParseCdiName(const std::string& text);

}  // namespace glim::nodeagent
