#include "sdk/base/line_search.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sdk/base/utf8.h"

namespace glim {
namespace {

constexpr std::size_t kBeforeWord = 512;  // of a line that is cut

constexpr std::uint64_t EachByte(std::uint64_t byte) { return byte * 0x0101010101010101U; }

// Eight bytes at once: A to Z become a to z. Each sum stays within its byte, whose highest bit then says which letters
// are not below 'A', and which are beyond 'Z'.
constexpr std::uint64_t FoldEight(std::uint64_t bytes) {
  const std::uint64_t low = bytes & EachByte(0x7F);
  const std::uint64_t from_a = low + EachByte(0x80 - 'A');
  const std::uint64_t beyond_z = low + EachByte(0x7F - 'Z');
  const std::uint64_t upper = (from_a ^ beyond_z) & ~bytes & EachByte(0x80);
  return bytes | (upper >> 2);
}

void Fold(char* text, std::size_t size) {
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    const std::size_t bytes = std::min(sizeof eight, size - at);
    std::memcpy(&eight, text + at, bytes);
    eight = FoldEight(eight);
    std::memcpy(text + at, &eight, bytes);
  }
}

std::string ValidUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const Utf8Char c = DecodeUtf8(text);
    if (c.ok) {
      valid.append(text.substr(0, c.size));
    } else {
      valid += "\xEF\xBF\xBD";
    }
    text.remove_prefix(c.size);
  }
  return valid;
}

}  // namespace

LineSearch::LineSearch(std::string_view word, bool ignore_case) : word_(word), ignore_case_(ignore_case) {
  if (ignore_case_) Fold(word_.data(), word_.size());
}

void LineSearch::SetText(std::string_view text) {
  text_ = text;
  if (!ignore_case_) return;
  folded_.assign(text);
  Fold(folded_.data(), folded_.size());
  text_ = folded_;
}

std::optional<LineHit> LineSearch::Next(std::size_t from) const {
  if (word_.empty() || from >= text_.size()) return std::nullopt;
  const void* const found = ::memmem(text_.data() + from, text_.size() - from, word_.data(), word_.size());
  if (found == nullptr) return std::nullopt;
  LineHit hit;
  hit.word = static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
  const std::size_t before = hit.word == 0 ? std::string_view::npos : text_.rfind('\n', hit.word - 1);
  hit.begin = before == std::string_view::npos ? 0 : before + 1;
  hit.end = std::min(text_.find('\n', hit.word), text_.size());
  return hit;
}

ShownLine ShowLine(std::string_view line, std::size_t keep) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ShownLine shown;
  if (line.size() > kShownLineBytesMax) {
    shown.cut = true;
    std::size_t begin = keep > kBeforeWord ? keep - kBeforeWord : 0;
    begin = std::min(begin, line.size() - kShownLineBytesMax);
    while (begin > 0 && begin < keep && ContinuesUtf8(line[begin])) ++begin;
    std::size_t end = begin + std::min(kShownLineBytesMax, line.size() - begin);
    while (end > keep && end < line.size() && ContinuesUtf8(line[end])) --end;
    line = line.substr(begin, end - begin);
  }
  shown.text = ValidUtf8(line);
  return shown;
}

}  // namespace glim
