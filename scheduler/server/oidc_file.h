// The map `oidc:` of the configuration: the issuer with whom users sign in
// (docs/operations/scheduler-configuration.md).
#pragma once

#include "scheduler/oidc/claims.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

yaml::Field ReadOidcInto(oidc::Issuer* issuer);

}  // namespace glim::server
