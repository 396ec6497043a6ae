// The system calls that a task's container may make, as the "seccomp" object of an OCI runtime configuration.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace glim::nodeagent {

// What an operator may add to the profile.
struct SeccompChoices {
  bool io_uring = false;
  bool vsock = false;  // sockets to the hypervisor, where the node is a virtual machine
};

// A list of allowed calls: what container engines allow by default, and what training needs beside it. The calls of
// today's kernels that reach past the container (mounts, modules, clocks, namespaces, keys, tracing of the machine)
// fail with EPERM. All others, those of later kernels among them, fail with ENOSYS: to libc the kernel does not have
// them, and it takes an older call. Programs of the node's own 64-bit architecture alone; a 32-bit one is killed.
// docs/decisions/0035.
nlohmann::json SeccompProfile(const SeccompChoices& choices);

}  // namespace glim::nodeagent
