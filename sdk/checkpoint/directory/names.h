// The names in a checkpoint directory. A name counts only if it is spelt as we spell it: attempt-007 is somebody
// else's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glim::checkpoint {

std::string AttemptName(std::uint32_t attempt);  // attempt-3
std::string StepName(std::uint64_t step);        // step-00000123: at least eight digits
std::optional<std::uint32_t> AttemptNamed(std::string_view name);
std::optional<std::uint64_t> StepNamed(std::string_view name);

}  // namespace glim::checkpoint
