// What a job runs in, as its spec names it (`image`). Pure.
//
//   host                                        the node's own system
//   [docker://]REGISTRY/NAME[:TAG]@sha256:HEX   an image in a registry (OCI distribution specification 1.1)
//   oci:/FOLDER[:TAG]                           an image layout (OCI image specification 1.1) in a folder of the node's
//   docker-archive:/FILE.tar                    what `docker save` wrote
//   sqfs:/FILE.sqsh                             a squashfs file, such as `enroot import` makes
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/core/model/spec.h"
#include "sdk/base/result.h"

namespace glim::core {

enum class ImageKind : std::uint8_t { kHost, kRegistry, kOciFolder, kDockerArchive, kSquashfs };

struct ImageName {
  ImageKind kind = ImageKind::kHost;
  std::string registry;    // HOST or HOST:PORT
  std::string repository;  // "team/torch"
  std::string tag;         // of an image layout: empty, if it has one image alone
  std::string digest;      // "sha256:HEX"
  std::string path;        // absolute, of what is no registry's
  friend bool operator==(const ImageName&, const ImageName&) = default;
};

inline constexpr const char* kHostImage = "host";

// In another system than the node's own.
inline bool RunsInImage(const JobSpec& spec) { return spec.image != kHostImage; }

// INVALID_ARGUMENT of the field `image`, with the fix.
Result<ImageName> ParseImageName(const std::string& text);

}  // namespace glim::core
