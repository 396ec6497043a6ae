// What an unpacked image layout (OCI image specification 1.1) says of its one image. Files that strangers wrote:
// bounded and checked. Blocking.
#pragma once

#include <string>

#include "nodeagent/images/image_order.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

// digest, workdir and env of the image with the tag `tag` in the layout `folder`. INVALID_ARGUMENT: it cannot be run
// here, as the message says.
Result<ImageFacts> ReadImageConfig(const std::string& folder, const std::string& tag);

// The architecture of this machine in an image's words: "amd64".
std::string OwnArchitecture();

}  // namespace glim::nodeagent
