#include "cli/snapshot/glob.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace glim::cli {
namespace {

constexpr std::string_view kWildcards = "*?[\\";

std::size_t IndexOf(char c) { return static_cast<unsigned char>(c); }

std::bitset<256> AllButSlash() {
  std::bitset<256> set;
  set.set();
  set.reset(IndexOf('/'));
  return set;
}

// The characters of "[:digit:]"; none: there is no such class.
std::optional<std::bitset<256>> ClassSet(std::string_view name) {
  using Test = int (*)(int);
  constexpr std::pair<std::string_view, Test> kClasses[] = {
      {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank}, {"cntrl", std::iscntrl},
      {"digit", std::isdigit}, {"graph", std::isgraph}, {"lower", std::islower}, {"print", std::isprint},
      {"punct", std::ispunct}, {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
  for (const auto& [known, test] : kClasses) {
    if (known != name) continue;
    std::bitset<256> set;
    for (int c = 0; c < 128; ++c) set[static_cast<std::size_t>(c)] = test(c) != 0;
    return set;
  }
  return std::nullopt;
}

}  // namespace

Glob::Glob(std::string_view pattern) : first_wildcard_(pattern.find_first_of(kWildcards)) {
  is_literal_ = first_wildcard_ == std::string_view::npos;
  if (is_literal_) {
    literal_ = pattern;
  } else {
    Read(pattern);
  }
}

void Glob::Read(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size();) {
    Set set;
    switch (pattern[at]) {
      case '*': at = ReadStars(pattern, at); break;
      case '[': at = ReadSet(pattern, at); break;
      case '?':
        AddOne(AllButSlash());
        ++at;
        break;
      case '\\':
        if (++at == pattern.size()) {
          at = std::string_view::npos;
          break;
        }
        [[fallthrough]];
      default: AddOne(set.set(IndexOf(pattern[at++])));
    }
    if (at == std::string_view::npos) {
      never_ = true;
      return;
    }
  }
}

std::size_t Glob::ReadStars(std::string_view pattern, std::size_t at) {
  const std::size_t begin = at;
  while (at < pattern.size() && pattern[at] == '*') ++at;
  // git compares what is before the first wildcard by itself, and then takes the rest for a pattern of its own: so
  // "name**/x" spans folders, too.
  const bool may_span = at - begin >= 2 && (begin == first_wildcard_ || pattern[begin - 1] == '/');
  if (may_span && at == pattern.size()) {
    tokens_.push_back({Kind::kAnything, {}});
  } else if (may_span && pattern[at] == '/') {
    tokens_.push_back({Kind::kFolders, {}});
    ++at;
  } else if (may_span && pattern.substr(at, 2) == "\\/") {
    tokens_.push_back({Kind::kAnything, {}});  // git does not take this for "**/", which may be nothing
  } else {
    tokens_.push_back({Kind::kStar, {}});
  }
  return at;
}

std::size_t Glob::ReadSet(std::string_view pattern, std::size_t at) {
  const auto has = [&](std::size_t i) { return i < pattern.size(); };
  bool negated = false;
  if (has(++at) && (pattern[at] == '!' || pattern[at] == '^')) {
    negated = true;
    ++at;
  }
  Set set;
  std::optional<std::size_t> previous;  // what a range may begin with
  for (bool first = true; has(at) && (first || pattern[at] != ']'); first = false, ++at) {
    const char c = pattern[at];
    if (c == '-' && previous && has(at + 1) && pattern[at + 1] != ']') {
      if (pattern[++at] == '\\' && !has(++at)) return std::string_view::npos;
      for (std::size_t i = *previous; i <= IndexOf(pattern[at]); ++i) set.set(i);
      previous.reset();
    } else if (c == '[' && has(at + 1) && pattern[at + 1] == ':') {
      const std::size_t close = pattern.find(']', at + 2);
      if (close == std::string_view::npos) return std::string_view::npos;
      if (close < at + 3 || pattern[close - 1] != ':') {  // no class: a '[' like any other character
        set.set(IndexOf(c));
        previous = IndexOf(c);
        continue;
      }
      const auto members = ClassSet(pattern.substr(at + 2, close - 1 - (at + 2)));
      if (!members) return std::string_view::npos;
      set |= *members;
      previous.reset();
      at = close;
    } else {
      if (c == '\\' && !has(++at)) return std::string_view::npos;
      set.set(IndexOf(pattern[at]));
      previous = IndexOf(pattern[at]);
    }
  }
  if (!has(at)) return std::string_view::npos;
  AddOne((negated ? ~set : set) & AllButSlash());
  return at + 1;
}

bool Glob::Matches(std::string_view text) const {
  if (is_literal_) return text == literal_;
  if (never_) return false;
  // before[i]: the tokens so far match text[0, i).
  std::vector<char> before(text.size() + 1, 0), after(text.size() + 1);
  before[0] = 1;
  for (const Token& token : tokens_) {
    bool reached = false;  // at an earlier character, for what spans folders
    bool any = false;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const char last = i == 0 ? '/' : text[i - 1];
      bool ok = false;
      switch (token.kind) {
        case Kind::kOne: ok = i > 0 && before[i - 1] && token.set[IndexOf(last)]; break;
        case Kind::kStar: ok = before[i] || (i > 0 && after[i - 1] && last != '/'); break;
        case Kind::kAnything: ok = before[i] || reached; break;
        case Kind::kFolders: ok = before[i] || (reached && last == '/'); break;
      }
      reached = reached || before[i];
      after[i] = ok;
      any = any || ok;
    }
    if (!any) return false;
    before.swap(after);
  }
  return before.back() != 0;
}

}  // namespace glim::cli
