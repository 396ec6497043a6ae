#include "nodeagent/task/failure_cause.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::nodeagent {
namespace {

constexpr std::string_view kHeader = "Traceback (most recent call last):";
constexpr std::string_view kGroupHeader = "+ Exception Group Traceback (most recent call last):";
constexpr std::string_view kOfGlim = "glim: ";
constexpr std::size_t kRestLines = 8;  // in which a message that begins on the next line is looked for

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// "=====" says nothing.
bool SaysSomething(std::string_view line) {
  return std::any_of(line.begin(), line.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || static_cast<unsigned char>(c) >= 0x80; });
}

// Without colours and other orders to a terminal: ESC [ ... letter.
std::string WithoutOrders(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b' || i + 1 == text.size() || text[i + 1] != '[') {
      plain += text[i];
      continue;
    }
    i += 2;
    while (i < text.size() && text[i] >= 0x20 && text[i] < 0x40) ++i;
  }
  return plain;
}

// Whether the carriage return at `at` is the end of a word that a message quotes, of a script with Windows' line ends
// for example ("exit: 0\r: numeric argument required"): no progress bar begins with what closes a word.
bool EndsAWord(std::string_view line, std::size_t at) {
  constexpr std::string_view kCloses[] = {":", "'", "\"", "`", ")", "\xe2\x80\x99"};
  const std::string_view rest = line.substr(at + 1);
  return at > 0 && !IsBlank(line[at - 1]) && line[at - 1] != '\r' &&
         std::any_of(std::begin(kCloses), std::end(kCloses), [&](std::string_view c) { return rest.starts_with(c); });
}

// Of a line that was written over (a progress bar), what was left standing.
std::string_view LeftStanding(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::size_t begin = line.rfind('\r');
  while (begin != std::string_view::npos && EndsAWord(line, begin)) begin = line.rfind('\r', begin - 1);
  return begin == std::string_view::npos ? line : line.substr(begin + 1);
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(LeftStanding(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// "[rank0]: ", "[default0]:" and the like, one after another.
bool IsRankPrefix(std::string_view text) {
  while (!text.empty()) {
    std::size_t at = text.front() == '[' ? 1 : std::string_view::npos;
    while (at < text.size() && (IsLetter(text[at]) || text[at] == '_' || text[at] == '-')) ++at;
    const std::size_t digits = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    if (at >= text.size() || at == digits || text[at] != ']') return false;
    ++at;
    if (at < text.size() && text[at] == ':') ++at;
    if (at < text.size() && text[at] == ' ') ++at;
    text.remove_prefix(at);
  }
  return true;
}

// What each line of a traceback with this header begins with; none if the line is no header.
std::optional<std::string> PrefixOfBlock(std::string_view line) {
  if (!line.ends_with(kHeader)) return std::nullopt;
  if (line.ends_with(kGroupHeader)) return std::string(line.substr(0, line.size() - kGroupHeader.size())) + "| ";
  const std::string_view before = line.substr(0, line.size() - kHeader.size());
  // Anything else before it is another program's line without an end, such as a progress bar.
  return IsRankPrefix(before) ? std::string(before) : std::string();
}

// The dotted name at the beginning, if it is followed by ": " or nothing.
std::string_view NameOf(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && (IsLetter(line[end]) || IsDigit(line[end]) || line[end] == '_' || line[end] == '.' ||
                               line[end] == '<' || line[end] == '>')) {
    ++end;
  }
  if (end == 0 || !(IsLetter(line[0]) || line[0] == '_')) return {};
  const std::string_view rest = line.substr(end);
  return rest.empty() || rest == ":" || rest.starts_with(": ") ? line.substr(0, end) : std::string_view();
}

bool IsNamedLikeAnException(std::string_view name) {
  static constexpr std::string_view kEndings[] = {"Error",   "Exception", "Exit",   "Interrupt", "Iteration",
                                                  "Warning", "Timeout",   ".error", "Group"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view end) { return name.ends_with(end); });
}

bool JoinsExceptions(std::string_view line) {
  return line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause");
}

using Lines = std::vector<std::string_view>;

// A message that begins on a line of its own comes with its name.
std::string WithMessage(const Lines& lines, std::size_t at, const std::string& prefix) {
  const std::string_view line = Trimmed(lines[at].substr(prefix.size()));
  if (NameOf(line).size() + 1 != line.size()) return std::string(line);
  for (std::size_t i = at + 1; i < lines.size() && i <= at + kRestLines; ++i) {
    if (!lines[i].starts_with(prefix)) continue;
    const std::string_view next = Trimmed(lines[i].substr(prefix.size()));
    if (SaysSomething(next)) return std::string(line) + " " + std::string(next);
  }
  return std::string(line.substr(0, line.size() - 1));
}

// The exception's line of the traceback whose first frame is at `at`; empty if there is none. Other processes may have
// written in between: a line that is named like an exception is taken before one that is merely not indented.
std::string ExceptionAfter(const Lines& lines, std::size_t at, const std::string& prefix) {
  std::size_t fallback = lines.size();
  for (; at < lines.size(); ++at) {
    if (!lines[at].starts_with(prefix)) continue;
    const std::string_view line = lines[at].substr(prefix.size());
    if (line.empty() || IsBlank(line[0]) || !SaysSomething(line)) continue;
    if (line.ends_with(kHeader) || JoinsExceptions(line)) {
      if (fallback < lines.size()) break;
      continue;
    }
    if (IsNamedLikeAnException(NameOf(line))) return WithMessage(lines, at, prefix);
    const bool better =
        fallback == lines.size() || (NameOf(lines[fallback].substr(prefix.size())).empty() && !NameOf(line).empty());
    if (better) fallback = at;
  }
  return fallback < lines.size() ? WithMessage(lines, fallback, prefix) : "";
}

// A script that cannot be parsed has no traceback, only the place and the error.
bool IsPlaceOfSyntaxError(std::string_view line) {
  if (line.empty() || !IsBlank(line[0])) return false;
  const std::string_view place = Trimmed(line);
  return place.starts_with("File \"") && place.find("\", line ") != place.npos && IsDigit(place.back());
}

bool IsSyntaxError(std::string_view line) {
  const std::string_view name = NameOf(line);
  return name == "SyntaxError" || name == "IndentationError" || name == "TabError";
}

// What nobody sees is shown, as it may be the cause: \r, \u200b.
std::string Harmless(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Utf8Char c = DecodeUtf8(text);
    std::string next(text.substr(0, c.size));
    if (!c.ok) {
      next = "?";
    } else if (c.code == '\r' || IsDeceptive(c.code)) {
      next = Escaped(next);
    } else if (IsControl(c.code)) {
      next = " ";
    }
    if (clean.size() + next.size() > kCauseBytesMax) break;
    clean += next;
    text.remove_prefix(c.size);
  }
  return std::string(Trimmed(clean));
}

std::string FirstTraceback(const Lines& lines) {
  std::set<std::string> open;  // prefixes of headers that nothing but frames came after
  bool in_place = false;       // the lines since a place of a syntax error are all indented
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto prefix = PrefixOfBlock(lines[i]); prefix && !open.contains(*prefix)) {
      std::string found = ExceptionAfter(lines, i + 1, *prefix);
      if (!found.empty()) return found;
      open.insert(*prefix);
    }
    if (in_place && IsSyntaxError(lines[i])) return std::string(lines[i]);
    const bool indented = lines[i].empty() || IsBlank(lines[i][0]);
    in_place = indented && (in_place || IsPlaceOfSyntaxError(lines[i]));
  }
  return "";
}

}  // namespace

std::string FailureCause(std::string_view output, bool was_killed) {
  const std::string plain = WithoutOrders(output);
  const Lines lines = LinesOf(plain);
  if (const std::string found = Harmless(FirstTraceback(lines)); !found.empty()) return found;
  std::string last;
  if (was_killed) return last;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string clean = Harmless(Trimmed(*line));
    if (last.empty()) last = clean;
    if (clean.starts_with(kOfGlim)) continue;
    if (SaysSomething(clean)) return clean;
  }
  return last;
}

}  // namespace glim::nodeagent
