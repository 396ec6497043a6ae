// From what somebody brought to one squashfs file, by skopeo, umoci and squashfs-tools. The calling process has no
// rights and sees nothing of the node but programs, /etc, the network, kWork, kSource and kImage (closed_root.h).
#pragma once

#include <string>

#include "nodeagent/images/image_order.h"
#include "scheduler/core/model/image_name.h"

namespace glim::nodeagent {

inline constexpr const char* kWork = "/work";         // empty, on a file system of its own
inline constexpr const char* kSource = "/source";     // what the image's path leads to; not there for a registry's
inline constexpr const char* kImage = "/image.sqsh";  // a file that is filled

struct ImportPlan {
  core::ImageName name;
  bool plain_http = false;  // of its registry
  bool by_disk = false;     // what bounds it is the disk of this node: another one may have more room
};

// Blocking. `answer.message` is empty if all is well; the file is for the caller to name.
ImageAnswer Import(const ImportPlan& plan);

}  // namespace glim::nodeagent
