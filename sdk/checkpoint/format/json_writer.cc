#include "sdk/checkpoint/format/json_writer.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace glim::checkpoint {

void AppendNumber(std::string& out, std::uint64_t number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

void AppendQuoted(std::string& out, std::string_view text) {
  // Nearly every name is plain: for those nlohmann's tree and stream of one string would be most of the cost.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    out += nlohmann::json(text).dump();
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

}  // namespace glim::checkpoint
