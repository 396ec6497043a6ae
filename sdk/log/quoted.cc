#include "sdk/log/quoted.h"

#include <cstddef>

#include "sdk/base/cut_text.h"
#include "sdk/base/utf8.h"

namespace glim {
namespace {

constexpr std::size_t kQuotedBytesMax = 1000;

}  // namespace

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : CutText(text, kQuotedBytesMax)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += IsControl(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80 ? ' ' : c;
  }
  return quoted + "\"";
}

}  // namespace glim
