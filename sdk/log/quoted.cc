#include "sdk/log/quoted.h"

#include <cstddef>

#include "sdk/base/cut_text.h"

namespace glim {
namespace {

constexpr std::size_t kQuotedBytesMax = 1000;

}  // namespace

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : CutText(text, kQuotedBytesMax)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

}  // namespace glim
