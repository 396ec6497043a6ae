// Where images may be fetched from: public addresses over TLS, and registries that the operator names.
#pragma once

#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// Whether the address (IPv4 or IPv6, as text) is one of the whole internet's: none of loopback, of a link, private
// (RFC 1918, RFC 4193), shared (RFC 6598), multicast or reserved.
bool IsPublicAddress(const std::string& address);

struct RegistryWay {
  bool plain = false;  // http, without TLS
};
// `registry`: HOST[:PORT]. `named`: the operator's, HOST[:PORT] or http://HOST[:PORT]. Asks the node's resolver, which
// blocks. INVALID_ARGUMENT: images do not come from there; UNAVAILABLE: its name is not known now.
Result<RegistryWay> WayTo(const std::string& registry, const std::vector<std::string>& named);

}  // namespace glim::nodeagent
