#include "scheduler/core/testing/golden_line.h"

#include <algorithm>
#include <utility>

namespace glim::core::testing {
namespace {

std::optional<Duration> SpanOf(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  for (const auto& [unit, ms] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = NumberOf(text.substr(0, text.size() - unit.size()));
    if (number) return Duration{*number * ms};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> NumberOf(std::string_view text) {
  if (text.empty() || text.size() > 15) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

GoldenLine::GoldenLine(std::string_view text, int number) : number_(number) {
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      words_.emplace_back(word);
    } else if (!values_.try_emplace(std::string(word.substr(0, equals)), word.substr(equals + 1)).second) {
      Fail(std::string(word.substr(0, equals)) + " stands twice; keep one");
    }
  }
}

std::string GoldenLine::Word() {
  if (words_.empty()) return "";
  std::string word = words_.front();
  words_.erase(words_.begin());
  return word;
}

std::optional<std::string> GoldenLine::Text(const std::string& key) {
  const auto it = values_.find(key);
  if (it == values_.end()) return std::nullopt;
  std::string value = it->second;
  values_.erase(it);
  return value;
}

std::string GoldenLine::TextOr(const std::string& key, std::string otherwise) {
  return Text(key).value_or(std::move(otherwise));
}

std::vector<std::string> GoldenLine::List(const std::string& key) { return SplitAtCommas(TextOr(key, "")); }

std::optional<std::int64_t> GoldenLine::Number(const std::string& key) {
  const auto text = Text(key);
  if (!text) return std::nullopt;
  const auto number = NumberOf(*text);
  if (!number) Fail(key + ": '" + *text + "' is no whole number");
  return number;
}

std::optional<Duration> GoldenLine::Span(const std::string& key) {
  const auto text = Text(key);
  if (!text) return std::nullopt;
  const auto span = SpanOf(*text);
  if (!span) Fail(key + ": '" + *text + "' is no duration; use 500ms, 30s, 15m or 2h");
  return span;
}

bool GoldenLine::Flag(std::string_view word) { return std::erase(words_, word) > 0; }

void GoldenLine::Fail(const std::string& what) {
  if (fault_.empty()) fault_ = "line " + std::to_string(number_) + ": " + what;
}

std::string GoldenLine::Fault() {
  if (!words_.empty()) Fail("'" + words_.front() + "' has no meaning here");
  if (!values_.empty()) Fail("the key '" + values_.begin()->first + "' has no meaning here");
  return fault_;
}

}  // namespace glim::core::testing
