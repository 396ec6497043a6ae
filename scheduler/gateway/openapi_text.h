// docs/openapi.json as it was when the program was built. Constant data; any thread.
#pragma once

#include <string_view>

namespace glim::gateway {

std::string_view OpenApiText();

}  // namespace glim::gateway
