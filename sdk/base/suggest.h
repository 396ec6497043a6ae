// "did you mean": the known word that is nearest to one that is not known. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace glim {

inline constexpr std::size_t kSuggestWordMax = 64;

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. Cut off at 64 characters.
inline int EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kSuggestWordMax);
  b = b.substr(0, kSuggestWordMax);
  using Row = std::array<int, kSuggestWordMax + 1>;
  Row before{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

// Without case, '-', '_' and blanks; cut off at 64 characters.
inline std::string FoldWord(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kSuggestWordMax)) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Nearest of `words`, or "" when none is near (a third of the word's length, at least 1, at most 3). Upper case,
// '-' and '_' do not count (gpusPerNode is gpus_per_node), and a word's beginning is near it.
inline std::string Nearest(std::string_view word, std::span<const std::string_view> words) {
  const std::string folded = FoldWord(word);
  const int limit = std::clamp(static_cast<int>(folded.size()) / 3, 1, 3);
  std::string best;
  int best_distance = limit + 1;
  for (const std::string_view candidate : words) {
    const std::string known = FoldWord(candidate);
    // The beginning of a word stands for it: node_fail is node_failure.
    const bool begins = folded.size() >= 3 && known.starts_with(folded);
    const int distance = begins ? 1 : EditDistance(folded, known);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace glim
