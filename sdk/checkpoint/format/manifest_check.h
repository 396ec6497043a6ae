// What must hold in a manifest, whoever made it.
#pragma once

#include <map>
#include <string>

#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

enum class Extent { kWhole, kPart };  // all of every tensor, or what one rank wrote

// The first fault, as ParseManifest says it.
Status CheckManifest(const Manifest& manifest, Extent extent);

// The user's metadata must be UTF-8: INVALID_ARGUMENT names the key that is not, or whose value is not.
Status CheckMetadata(const std::map<std::string, std::string>& metadata);

}  // namespace glim::checkpoint
