#include "nodeagent/programs/validate/pattern.h"

#include <cinttypes>
#include <cstdio>

namespace glim::validate {

const char* ToString(Pattern pattern) {
  switch (pattern) {
    case Pattern::kFives: return "0x55";
    case Pattern::kAs: return "0xaa";
    case Pattern::kWalkingOne: return "walking one";
    case Pattern::kAddress: return "address";
    case Pattern::kRandom: return "random";
  }
  return "?";
}

std::uint64_t WordOf(Pattern pattern, std::uint64_t place) {
  switch (pattern) {
    case Pattern::kFives: return 0x5555555555555555ULL;
    case Pattern::kAs: return 0xAAAAAAAAAAAAAAAAULL;
    case Pattern::kWalkingOne: return std::uint64_t{1} << (place % 64);
    case Pattern::kAddress: return place;
    case Pattern::kRandom: break;
  }
  // splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
  std::uint64_t word = place * 0x9E3779B97F4A7C15ULL + 0x6A09E667F3BCC909ULL;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

void Fill(std::span<std::uint64_t> words, Pattern pattern, std::uint64_t first) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = WordOf(pattern, first + i);
}

std::optional<std::string> FirstWrong(std::span<const std::uint64_t> words, Pattern pattern, std::uint64_t first) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t wanted = WordOf(pattern, first + i);
    if (words[i] == wanted) continue;
    char text[192];
    std::snprintf(text, sizeof text,
                  "wrong at %p: 0x%016" PRIx64 " for 0x%016" PRIx64 " (bits 0x%016" PRIx64 "), pattern %s",
                  static_cast<const void*>(&words[i]), words[i], wanted, words[i] ^ wanted, ToString(pattern));
    return text;
  }
  return std::nullopt;
}

}  // namespace glim::validate
