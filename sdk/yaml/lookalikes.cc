#include "sdk/yaml/lookalikes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::yaml {
namespace {

enum class Looks { kBlank, kQuote, kColon, kComma, kDash };

struct Named {
  char32_t first, last;
  Looks looks;
  std::string_view name;
};

constexpr std::array kLookalikes = {
    Named{0x00A0, 0x00A0, Looks::kBlank, "a no-break space"},
    Named{0x1680, 0x1680, Looks::kBlank, "a space of another script"},
    Named{0x2000, 0x200A, Looks::kBlank, "a space of another width"},
    Named{0x202F, 0x202F, Looks::kBlank, "a narrow no-break space"},
    Named{0x205F, 0x205F, Looks::kBlank, "a space of another width"},
    Named{0x3000, 0x3000, Looks::kBlank, "an ideographic space"},
    Named{0x00AB, 0x00AB, Looks::kQuote, "a typographic quotation mark"},
    Named{0x00BB, 0x00BB, Looks::kQuote, "a typographic quotation mark"},
    Named{0x2018, 0x201F, Looks::kQuote, "a typographic quotation mark"},
    Named{0x2032, 0x2036, Looks::kQuote, "a prime"},
    Named{0x2039, 0x203A, Looks::kQuote, "a typographic quotation mark"},
    Named{0xFF02, 0xFF02, Looks::kQuote, "a quotation mark of full width"},
    Named{0xFF07, 0xFF07, Looks::kQuote, "a quotation mark of full width"},
    Named{0x2236, 0x2236, Looks::kColon, "a ratio sign"},
    Named{0xFE55, 0xFE55, Looks::kColon, "a small colon"},
    Named{0xFF1A, 0xFF1A, Looks::kColon, "a colon of full width"},
    Named{0xFF0C, 0xFF0C, Looks::kComma, "a comma of full width"},
    Named{0x2010, 0x2015, Looks::kDash, "a dash"},
    Named{0x2212, 0x2212, Looks::kDash, "a minus sign"},
};

const Named* NamedOf(char32_t code) {
  const auto* const found = std::find_if(kLookalikes.begin(), kLookalikes.end(),
                                         [&](const Named& n) { return code >= n.first && code <= n.last; });
  return found == kLookalikes.end() ? nullptr : found;
}

std::string_view NameOfUnseen(char32_t code) {
  switch (code) {
    case 0x00AD: return "a soft hyphen";
    case 0x200B: return "a zero-width space";
    case 0x2060: return "a word joiner";
    case 0xFEFF: return "a byte order mark";
    case 0x2028: return "a line separator";
    case 0x2029: return "a paragraph separator";
    default: break;
  }
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return turns ? "a character that turns text around" : "a character that nobody sees";
}

// Marks of direction stand in texts that are written from right to left.
bool IsUnseen(char32_t code) { return IsDeceptive(code) && code != 0x200E && code != 0x200F && code != 0x061C; }

std::string Number(char32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, " (U+%04X)", static_cast<unsigned>(code));
  return text;
}

Lookalike Unseen(std::size_t offset, char32_t code) {
  return {offset, std::string(NameOfUnseen(code)) + Number(code) + ", which editors do not show",
          "remove it: delete the characters around it, and type them anew"};
}

Lookalike Seen(std::size_t offset, const Named& named, char32_t code) {
  const std::string what = std::string(named.name) + Number(code);
  switch (named.looks) {
    case Looks::kBlank:
      return {offset, what + " where a space belongs",
              "type a space in its place; if it is meant, put quotes around the value"};
    case Looks::kQuote: return {offset, what + " where a quote belongs", "type \" or ' in its place"};
    case Looks::kColon: return {offset, what + " where a colon belongs", "type ':' and a space in its place"};
    case Looks::kComma: return {offset, what + " where a comma belongs", "type ',' in its place"};
    case Looks::kDash: break;
  }
  return {offset, what + " where '-' belongs", "type '-' in its place"};
}

struct Line {
  std::size_t begin = 0;
  std::string_view text;
};

Line LineAt(std::string_view text, std::size_t offset) {
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return {begin, text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin)};
}

bool IsEmpty(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// Behind the quotes that a line has, and without its comment, as far as one line tells.
std::string Bare(std::string_view line) {
  std::string bare(line);
  char quote = 0;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const char c = line[i];
    const bool begins = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
    if (quote == 0 && c == '#' && begins) return bare.substr(0, i);
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
      bare[i] = ' ';
    }
  }
  return bare;
}

std::optional<Lookalike> FindInLine(const Line& line) {
  const std::size_t indented = line.text.find_first_not_of(" \t");
  const std::size_t tab = line.text.substr(0, indented).find('\t');
  if (tab != std::string_view::npos) {
    return Lookalike{line.begin + tab, "a tab indents this line", "indent by spaces: YAML takes no tabs there"};
  }
  const std::string bare = Bare(line.text);
  std::optional<Lookalike> found;
  for (std::size_t at = 0; at < bare.size();) {
    const Utf8Char c = DecodeUtf8(std::string_view(bare).substr(at));
    if (const Named* named = c.ok ? NamedOf(c.code) : nullptr; named != nullptr) {
      // What looks like a dash is one only where an item of a list begins.
      if (named->looks != Looks::kDash || at == indented) return Seen(line.begin + at, *named, c.code);
    }
    at += c.size;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Lookalike> FindUnseen(std::string_view text) {
  bool comment = false;
  char before = '\n';
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (c.code == '\n') comment = false;
    if (c.code == '#' && (before == '\n' || before == ' ' || before == '\t')) comment = true;
    if (c.code == '\r' && text.substr(at + 1, 1) != "\n") {
      return Lookalike{at, "a carriage return (U+000D) that ends no line",
                       "end lines by a newline (LF): dos2unix does that"};
    }
    if (c.ok && !comment && at > 0 && IsUnseen(c.code)) return Unseen(at, c.code);
    before = text[at];
    at += c.size;
  }
  return std::nullopt;
}

std::optional<Lookalike> FindInWord(std::string_view word) {
  const auto is_name = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  };
  for (std::size_t at = 0; at < word.size();) {
    const Utf8Char c = DecodeUtf8(word.substr(at));
    if (const Named* named = c.ok ? NamedOf(c.code) : nullptr; named != nullptr) {
      const bool quotes = named->looks == Looks::kQuote && at == 0;
      const bool item = named->looks == Looks::kDash && at == 0 && word.substr(c.size, 1) == " ";
      const bool key = named->looks == Looks::kColon && at > 0 && is_name(word.substr(0, at));
      if (named->looks == Looks::kBlank || quotes || item || key) return Seen(at, *named, c.code);
    }
    at += c.size;
  }
  return std::nullopt;
}

std::optional<Lookalike> FindCulprit(std::string_view text, std::size_t offset) {
  Line line = LineAt(text, std::min(offset, text.size()));
  if (auto found = FindInLine(line)) return found;
  while (line.begin > 0) {
    line = LineAt(text, line.begin - 1);
    if (!IsEmpty(line.text)) return FindInLine(line);
  }
  return std::nullopt;
}

}  // namespace glim::yaml
