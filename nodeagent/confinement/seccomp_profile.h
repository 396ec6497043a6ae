// The system calls that a task's container is refused, as the "seccomp" object of an OCI runtime configuration.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace glim::nodeagent {

// What reaches past the container (mounts, kernel modules, clocks, namespaces, other machines' state) fails with EPERM;
// everything else is allowed: training stacks use corners of the kernel (io_uring, process_vm_readv, set_mempolicy)
// that no list of allowed calls would keep up with. docs/decisions/0010.
nlohmann::json SeccompProfile();

}  // namespace glim::nodeagent
