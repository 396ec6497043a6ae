#include "cli/text/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::cli {
namespace {

constexpr std::size_t kColourBytesMax = 64;  // of one sequence; the longest that programs write has some 40
constexpr char kEscape = '\x1b';

// Bytes that are characters, and harmless, by themselves. Most of most texts.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = true;
  for (const char c : {'\n', '\t', '\r'}) plain[static_cast<std::size_t>(c)] = true;
  return plain;
}();

bool IsPlain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

struct Piece {
  std::size_t size = 1;  // 0: more has to come before anybody can tell
  bool passes = false;
};

// ESC [ 1 ; 31 m
Piece ColourAt(std::string_view text) {
  constexpr std::string_view kBegin = "\x1b[";
  if (!text.starts_with(kBegin)) return {text.size() < kBegin.size() ? std::size_t{0} : 1};
  const std::string_view inside = text.substr(0, kColourBytesMax);
  const std::size_t end = inside.find_first_not_of("0123456789;:", kBegin.size());
  if (end == std::string_view::npos) return {text.size() < kColourBytesMax ? std::size_t{0} : 1};
  return text[end] == 'm' ? Piece{end + 1, true} : Piece{};
}

// Whether these few bytes may still become one character.
bool IsBegun(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  return first >= 0xC2 && first <= 0xF4 && text.size() < size &&
         std::all_of(text.begin() + 1, text.end(), ContinuesUtf8);
}

Piece CharacterAt(std::string_view text) {
  if (IsBegun(text)) return {0};
  const Utf8Char c = DecodeUtf8(text);
  return {c.size, c.ok && !IsControl(c.code) && !IsDeceptive(c.code)};
}

// Whether the sequence leaves colours on.
bool SwitchesOn(std::string_view colour) {
  return colour.find_first_not_of("0;", 2) != colour.size() - 1;  // what is not said is 0
}

}  // namespace

std::string TerminalText::Show(std::string_view text, bool all) {
  std::string out;
  out.reserve(text.size() + kColourBytesMax);
  for (std::size_t at = 0; at < text.size();) {
    const auto* const odd = std::find_if_not(text.begin() + at, text.end(), IsPlain);
    const auto plain = static_cast<std::size_t>(odd - text.begin()) - at;
    out.append(text, at, plain);
    at += plain;
    if (at == text.size()) break;
    const std::string_view rest = text.substr(at);
    Piece piece = rest[0] == kEscape ? ColourAt(rest) : CharacterAt(rest);
    if (piece.size == 0 && !all) {
      waiting_ = rest;
      break;
    }
    piece.size = std::max(piece.size, std::size_t{1});
    const std::string_view shown = rest.substr(0, piece.size);
    if (piece.passes && rest[0] == kEscape) coloured_ = SwitchesOn(shown);
    out += piece.passes ? std::string(shown) : Escaped(shown);
    at += piece.size;
  }
  return out;
}

std::string TerminalText::Take(std::string_view text) {
  if (waiting_.empty()) return Show(text, false);
  std::string whole = std::exchange(waiting_, "");
  whole += text;
  return Show(whole, false);
}

std::string TerminalText::End() {
  std::string out = Show(std::exchange(waiting_, ""), true);
  if (std::exchange(coloured_, false)) out += "\x1b[0m";
  return out;
}

std::string ForTerminal(std::string_view text) {
  TerminalText all;
  return all.Take(text) + all.End();
}

}  // namespace glim::cli
