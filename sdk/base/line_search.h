// Lines of a text that hold a word, as it stands: no pattern. For texts of many megabytes. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace glim {

// Of a line that holds the word: from its first byte to its end (a newline, or where the text ends), and the word's
// first byte.
struct LineHit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t word = 0;
  friend bool operator==(const LineHit&, const LineHit&) = default;
};

class LineSearch {
 public:
  // `ignore_case`: ASCII letters are alike in both cases. A word that is empty is found nowhere.
  LineSearch(std::string_view word, bool ignore_case);

  // What is looked through from now on; must outlive the looks. With `ignore_case` it is copied once.
  void SetText(std::string_view text);
  // The first such line from `from` on, which is where a line begins.
  std::optional<LineHit> Next(std::size_t from) const;

  std::size_t word_bytes() const { return word_.size(); }

 private:
  std::string word_;
  const bool ignore_case_;
  std::string folded_;
  std::string_view text_;
};

inline constexpr std::size_t kShownLineBytesMax = 4096;

struct ShownLine {
  std::string text;  // UTF-8
  bool cut = false;  // it is a part of the line, with the byte that was to be in it
};
// At most kShownLineBytesMax of a line, without a carriage return at its end; `keep` is in it. Each byte that is no
// UTF-8 becomes U+FFFD.
ShownLine ShowLine(std::string_view line, std::size_t keep);

}  // namespace glim
