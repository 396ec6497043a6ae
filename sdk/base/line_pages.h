// Looks for lines that hold a word in what may be larger than memory, a window at a time, from either end, and tells
// them in pages. Blocks for as long as the source does. Stateless between calls: where a page ends is an offset.
//
// A line longer than a window is searched in parts, which overlap by the word's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim {

// Bytes by their offsets, such as a log's.
class LineSource {
 public:
  virtual ~LineSource() = default;
  virtual std::int64_t begin() const = 0;
  virtual std::int64_t end() const = 0;
  // Fills `into` from `offset` on, as far as it goes; returns how many bytes. `offset` lies between begin and end.
  virtual Result<std::size_t> Read(std::int64_t offset, std::span<char> into) const = 0;
};

// A text in memory, whose first byte has this offset. Borrows it.
class TextLines final : public LineSource {
 public:
  TextLines(std::string_view text, std::int64_t begin) : text_(text), begin_(begin) {}
  std::int64_t begin() const override { return begin_; }
  std::int64_t end() const override { return begin_ + static_cast<std::int64_t>(text_.size()); }
  Result<std::size_t> Read(std::int64_t offset, std::span<char> into) const override {
    return text_.copy(into.data(), into.size(), static_cast<std::size_t>(offset - begin_));
  }

 private:
  std::string_view text_;
  std::int64_t begin_;
};

inline constexpr std::int64_t kFromWhereItBegins = -1;
inline constexpr std::uint32_t kLineContextMax = 20;
inline constexpr std::size_t kLineWordBytesMax = 256;

struct LineQuery {
  std::string word;
  bool ignore_case = false;
  bool newest_first = false;
  std::uint32_t context = 0;                 // lines before and after
  std::int64_t offset = kFromWhereItBegins;  // where a line begins: from there on; newest first: before it
  std::size_t lines_max = 0;                 // with the word
  std::size_t bytes_max = 0;                 // of all lines together; the first is told whatever it has
  std::int64_t window_bytes = std::int64_t{1} << 20;
  // Asked before so many bytes are read; false: no more for now.
  std::function<bool(std::size_t bytes)> go_on;
};

struct FoundText {
  std::int64_t offset = 0;
  std::string text;
  bool cut = false;
  bool match = false;
};

struct LinePage {
  std::vector<FoundText> lines;  // in the order of the search
  std::size_t matches = 0;
  std::size_t bytes = 0;
  std::int64_t next = 0;  // the offset to go on from
  bool done = false;      // there is no more
  std::int64_t searched_bytes = 0;
};

Result<LinePage> SearchLines(const LineSource& source, const LineQuery& query);

}  // namespace glim
