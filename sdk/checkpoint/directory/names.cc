#include "sdk/checkpoint/directory/names.h"

#include <charconv>
#include <system_error>

namespace glim::checkpoint {
namespace {

constexpr std::string_view kAttempt = "attempt-";
constexpr std::string_view kStep = "step-";
constexpr std::size_t kStepDigits = 8;

template <typename Number>
std::optional<Number> NumberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  Number number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return number;
}

}  // namespace

std::string AttemptName(std::uint32_t attempt) { return std::string(kAttempt) + std::to_string(attempt); }

std::string StepName(std::uint64_t step) {
  const std::string digits = std::to_string(step);
  const std::size_t zeros = digits.size() < kStepDigits ? kStepDigits - digits.size() : 0;
  return std::string(kStep) + std::string(zeros, '0') + digits;
}

std::optional<std::uint32_t> AttemptNamed(std::string_view name) {
  const auto attempt = NumberAfter<std::uint32_t>(kAttempt, name);
  return attempt && AttemptName(*attempt) == name ? attempt : std::nullopt;
}

std::optional<std::uint64_t> StepNamed(std::string_view name) {
  const auto step = NumberAfter<std::uint64_t>(kStep, name);
  return step && StepName(*step) == name ? step : std::nullopt;
}

std::string PathOf(CheckpointId id) { return AttemptName(id.attempt) + "/" + StepName(id.step); }

}  // namespace glim::checkpoint
