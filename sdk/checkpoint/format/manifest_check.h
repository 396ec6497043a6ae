// What must hold in a manifest, whoever made it.
#pragma once

#include <string>

#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

enum class Extent { kWhole, kPart };  // all of every tensor, or what one rank wrote

// The first fault, as ParseManifest says it.
Status CheckManifest(const Manifest& manifest, Extent extent);

}  // namespace glim::checkpoint
