// Bounds a text that goes into a message or a log.
#pragma once

#include <cstddef>
#include <string>

#include "sdk/base/utf8.h"

namespace glim {

// At most `bytes_max` of it, cut at a character's beginning: half of one (UTF-8) would make the whole message
// unreadable.
inline std::string CutText(const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && ContinuesUtf8(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace glim
