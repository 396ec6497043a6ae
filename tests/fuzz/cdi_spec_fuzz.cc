// Any bytes as a CDI file: refused, or within the bounds that the header names, with paths of one spelling.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nodeagent/devices/cdi_spec.h"
#include "tests/fuzz/holds.h"

namespace {

using glim::fuzz::Holds;
using glim::nodeagent::CdiDevice;
using glim::nodeagent::CdiDeviceNode;
using glim::nodeagent::CdiEdits;
using glim::nodeagent::CdiMount;
using glim::nodeagent::kCdiDevicesMax;
using glim::nodeagent::kCdiEditsMax;

void CheckPath(const std::string& path) {
  Holds(path.size() > 1 && path[0] == '/', "a path is absolute", path);
  Holds((path + "/").find("/../") == std::string::npos, "no path leads up", path);
}

void Check(const CdiEdits& edits) {
  Holds(edits.env.size() <= kCdiEditsMax && edits.nodes.size() <= kCdiEditsMax && edits.mounts.size() <= kCdiEditsMax,
        "edits are bounded", "");
  for (const CdiDeviceNode& node : edits.nodes) {
    CheckPath(node.path);
    CheckPath(node.host_path);
    Holds(node.type.size() <= 1, "a type is a letter", node.type);
  }
  for (const CdiMount& mount : edits.mounts) {
    CheckPath(mount.host_path);
    CheckPath(mount.container_path);
  }
  for (const auto& [name, value] : edits.env) {
    Holds(!name.empty() && name.find('=') == std::string::npos, "a variable has a name", name);
    Holds(value.find('\0') == std::string::npos, "a value is a text", value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = glim::nodeagent::ParseCdi({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!spec.ok()) return 0;
  Holds(!spec->devices.empty() && spec->devices.size() <= kCdiDevicesMax, "devices are bounded", spec->kind);
  Check(spec->edits);
  for (const CdiDevice& device : spec->devices) {
    Holds(glim::nodeagent::ParseCdiName(spec->kind + "=" + device.name).has_value(), "a device can be named",
          device.name);
    Check(device.edits);
  }
  return 0;
}
