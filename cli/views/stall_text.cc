#include "cli/views/stall_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/text/time_text.h"
#include "sdk/base/printable.h"

namespace glim::cli {
namespace {

std::string Indented(std::string_view text, int blanks) {
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    lines += line.empty() ? "\n" : fmt::format("{:{}}{}\n", "", blanks, Escaped(line));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string StallText(const glim::v1::Attempt& attempt, TimePoint now, const StallShown& shown) {
  const bool lives = attempt.state() == "running";
  if (attempt.stalled_since_ms() == 0 || (!lives && attempt.outcome() != "hang")) return "";
  std::string text = lives ? fmt::format("it stands still: the last step, save or output was {}",
                                         FormatAgo({attempt.stalled_since_ms()}, now))
                           : std::string("it stood still");
  if (attempt.evidence().empty()) {
    text += lives ? "; its processes are being looked at" : "";
    return fmt::format("{:{}}{}\n", "", shown.indent, text);
  }
  const std::string_view evidence = attempt.evidence();
  const std::string_view told = shown.stacks ? evidence : evidence.substr(0, evidence.find("\n\n"));
  return fmt::format("{:{}}{}; what its processes did:\n", "", shown.indent, text) + Indented(told, shown.indent + 2);
}

}  // namespace glim::cli
