// The text of manifests and parts. docs/reference/checkpoint-format.md has every field. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

// Checks nothing; what it is given should pass Merge and CheckMetadata. The text ends with a checksum of itself.
std::string ToJson(const Manifest& manifest);
std::string ToJson(const Part& part);

// Refuses (DATA_LOSS, reason BAD_MANIFEST, with the field: "tensors[3].pieces[0].offset") everything that a reader
// would have to trust: a text that is not as it was written (its checksum), unknown format, version or members, names
// that are not plain files, tensors out of order, a NaN or any other number where a non-negative integer is due, ranges
// that overlap, leave a hole, or leave their shard, checksums that do not count up. What it returns needs no further
// checks.
Result<Manifest> ParseManifest(std::string_view json);
// The same, but that tensors may lack pieces.
Result<Part> ParsePart(std::string_view json);

}  // namespace glim::checkpoint
