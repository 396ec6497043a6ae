// Patterns that memory is filled with and compared with. Pure.
//
// Each bit as 0 and as 1, a walking one, the word's own number (a wrong address line shows), and what looks random (J.
// van de Goor, Testing Semiconductor Memories, 1991, has the families).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace glim::validate {

enum class Pattern : std::uint8_t { kFives, kAs, kWalkingOne, kAddress, kRandom };
inline constexpr Pattern kPatterns[] = {Pattern::kFives, Pattern::kAs, Pattern::kWalkingOne, Pattern::kAddress,
                                        Pattern::kRandom};
const char* ToString(Pattern pattern);

// The word at this place of all memory that is tested.
std::uint64_t WordOf(Pattern pattern, std::uint64_t place);

// `first`: the place of words[0].
void Fill(std::span<std::uint64_t> words, Pattern pattern, std::uint64_t first);
// The first word that is not as it was filled, in words for people.
std::optional<std::string> FirstWrong(std::span<const std::uint64_t> words, Pattern pattern, std::uint64_t first);

}  // namespace glim::validate
