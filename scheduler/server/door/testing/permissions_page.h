// docs/permissions.md, made from Permissions(). Pure.
#pragma once

#include <string>

namespace glim::server {

std::string PermissionsPage();

}  // namespace glim::server
