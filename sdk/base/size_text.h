// Sizes as text: read as people write them, and written for files and for people. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glim {

// Bytes of "4096KiB", "512MiB", "64GiB", "2TiB": one whole number and one unit. nullopt for anything else, a bare
// number and what does not fit 2^62 bytes included.
std::optional<std::int64_t> ParseSize(std::string_view text);

// In the largest unit that leaves a whole number: "64GiB", "1536MiB", "1000 bytes".
std::string WriteSize(std::int64_t bytes);

// In words, one digit behind the point: "1 byte", "300 bytes", "1.2 GiB".
std::string RoundedSizeText(std::uint64_t bytes);

}  // namespace glim
