// Enrols many nodes at once, beside the scheduler: identities in its store, certificates in files.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/status.h"

namespace glim::bench {

struct ReconnectFillOptions {
  std::string store;     // the URL of one that a scheduler with identity has begun, and nobody has open
  std::string key_file;  // of that scheduler
  std::string folder;  // gets key.pem (one for all), certificates.pem (in order of the nodes' numbers), authorities.pem
  std::uint32_t agents = 10'000;
};

// node-1 to node-N, each on "machine-of-" its name.
Status FillIdentities(const ReconnectFillOptions& options);

}  // namespace glim::bench
