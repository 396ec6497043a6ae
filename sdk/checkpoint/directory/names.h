// The names in a checkpoint directory. A name counts only if it is spelt as we spell it: attempt-007 is somebody
// else's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glim::checkpoint {

inline constexpr char kManifestName[] = "manifest.json";

struct CheckpointId {
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

std::string AttemptName(std::uint32_t attempt);  // attempt-3
std::string StepName(std::uint64_t step);        // step-00000123: at least eight digits
std::optional<std::uint32_t> AttemptNamed(std::string_view name);
std::optional<std::uint64_t> StepNamed(std::string_view name);

// attempt-N/step-00000123, relative to the directory.
std::string PathOf(CheckpointId id);

}  // namespace glim::checkpoint
