// An image becomes a file of this node's: it is there already, somebody is at it, or it is imported now.
#pragma once

#include <functional>

#include "nodeagent/images/image_order.h"

namespace glim::nodeagent {

// Blocking: for as long as the storage, the registry or another import of the same image takes. The calling process is
// root's, of one thread, and does this alone.
ImageAnswer HaveImage(const ImageOrder& order);

}  // namespace glim::nodeagent
