// The CDI files of a node, and what the devices that they describe come to in a container of Glim's.
//
// Reads /etc/cdi and /var/run/cdi below `root`, bounded in number and size. A file counts only if nobody but root can
// have written it: what it says is done with root's rights for jobs of all users. Any thread.
#pragma once

#include <string>
#include <vector>

#include "nodeagent/devices/cdi_spec.h"
#include "nodeagent/devices/node_devices.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct CdiFile {
  std::string path;  // on the node
  CdiSpec spec;
};

struct CdiFiles {
  std::vector<CdiFile> files;        // in the order in which a device is looked for: of /var/run/cdi first
  std::vector<std::string> refused;  // in words: which file, and why it does not count
};

CdiFiles ReadCdiFiles(const std::string& root);

// Whether one of the files has the device.
bool HasDevice(const CdiFiles& files, const CdiName& name);

struct CdiRules {
  std::string root;
  bool writable_mounts = false;  // a file's mounts are writable where it does not say `ro`
};

// What the devices come to. NOT_FOUND where no file has one; FAILED_PRECONDITION where a device node of one is not on
// the node. What a file wants and the agent does not do (a hook, a mount over the system's folders, a variable that is
// Glim's) is left out and told in `notes`.
Result<NodeDevices> ResolveCdi(const CdiFiles& files, const std::vector<CdiName>& names, const CdiRules& rules);

}  // namespace glim::nodeagent
