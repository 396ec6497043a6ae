// Sizes as people write them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glim::cli {

// Bytes of "4096KiB", "512MiB", "64GiB", "2TiB": one whole number and one unit. nullopt for anything else, a bare number
// and what does not fit 2^62 bytes included.
std::optional<std::int64_t> ParseSize(std::string_view text);

// "64GiB", "1536MiB": the largest unit that leaves a whole number.
std::string FormatSize(std::int64_t bytes);

// About so many: "300 bytes", "1.2 GiB".
std::string BytesText(std::uint64_t bytes);

}  // namespace glim::cli
