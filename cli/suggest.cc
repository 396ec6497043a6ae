#include "cli/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace glim::cli {
namespace {

constexpr std::size_t kWordMax = 64;

std::string Fold(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kWordMax)) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kWordMax);
  b = b.substr(0, kWordMax);
  using Row = std::array<int, kWordMax + 1>;
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

std::string Nearest(std::string_view word, std::span<const std::string_view> words) {
  const std::string folded = Fold(word);
  const int limit = std::clamp(static_cast<int>(folded.size()) / 3, 1, 3);
  std::string best;
  int best_distance = limit + 1;
  for (const std::string_view candidate : words) {
    const std::string known = Fold(candidate);
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

}  // namespace glim::cli
