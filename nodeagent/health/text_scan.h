// Reads a line from its beginning, piece by piece. A view: the line outlives it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace glim::nodeagent::health {

class TextScan {
 public:
  explicit TextScan(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool Is(std::string_view word) const { return rest_.starts_with(word); }
  // Takes `word` if it comes next.
  bool Take(std::string_view word) {
    if (!Is(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Goes on after the next `word`, wherever it is.
  bool SkipPast(std::string_view word) {
    const std::size_t at = rest_.find(word);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + word.size());
    return true;
  }
  // What comes before the first character of `ends`, or all that is left.
  std::string_view Until(std::string_view ends) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(word.size());
    return word;
  }
  // A whole number, decimal; nothing: none comes next, or it has more than 18 digits.
  std::optional<std::int64_t> Number() {
    std::size_t size = 0;
    std::int64_t value = 0;
    for (; size < rest_.size() && IsDigit(rest_[size]); ++size) {
      if (size == 18) return std::nullopt;
      value = value * 10 + (rest_[size] - '0');
    }
    if (size == 0) return std::nullopt;
    rest_.remove_prefix(size);
    return value;
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

 private:
  std::string_view rest_;
};

// The whole of `text`, less the line's end, as a number.
inline std::optional<std::int64_t> NumberIn(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  TextScan scan(text);
  const std::optional<std::int64_t> number = scan.Number();
  return scan.rest().empty() ? number : std::nullopt;
}

}  // namespace glim::nodeagent::health
