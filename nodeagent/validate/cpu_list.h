// The kernel's lists of numbers: "0-3,8". Pure.
#pragma once

#include <string_view>
#include <vector>

namespace glim::validate {

// Ascending as they stand; what is no number ends the list.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace glim::validate
