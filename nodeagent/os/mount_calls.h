// Paths and mounts by descriptor: what a descriptor names cannot be exchanged for something else. Thin: each is a
// system call or two, and says why not in errno. Any thread.
#pragma once

#include <string>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// O_PATH descriptors (and close-on-exec). Of an absolute path on whose whole way no link stands (else ELOOP); or with
// links followed, but for those of /proc, which lead into other processes' worlds (Linux 5.6).
UniqueFd OpenWithoutLinks(const std::string& path);
UniqueFd OpenFollowingLinks(const std::string& path);
// Where it is now, without links, as the calling process sees its file systems; empty: no telling.
std::string PathOf(int fd);

// From now on the calling process has mounts of its own: none of its changes reaches the node, all of the node's reach
// it. They go with the last process that has them. 0 or -1.
int LeaveNodesMounts();
// What is at `fd` and mounted below, to be mounted elsewhere.
UniqueFd CloneMounts(int fd);
// The same without what is mounted below.
UniqueFd CloneMount(int fd);
// Of a clone, with all below: no set-uid programs and no devices count; nothing is written through it. What the node
// forbids there stays forbidden. 0 or -1.
int RestrictMounts(int clone, bool read_only);
// `place`: a descriptor of what is there, a folder for a folder, a file for a file. 0 or -1.
int AttachMounts(int clone, int place);

// The system call that the kernel lacks or refuses us, with its reason; empty: mounts can be made so (Linux 5.12).
std::string WhyNoMountCalls();

}  // namespace glim::nodeagent
