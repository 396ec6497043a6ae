// GoldenLine: one line of a golden decision file, as words: "running job 7 user=ana nodes=2". Whoever reads the line
// takes word after word; what nobody takes is a fault, so that a misspelt key never counts as its default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/time.h"

namespace glim::core::testing {

class GoldenLine {
 public:
  // `number` counts the file's lines from 1, for messages.
  GoldenLine(std::string_view text, int number);

  // The next of the words without "=", empty if there is none.
  std::string Word();
  // The value of "key=value".
  std::optional<std::string> Text(const std::string& key);
  std::string TextOr(const std::string& key, std::string otherwise);
  std::vector<std::string> List(const std::string& key);
  std::optional<std::int64_t> Number(const std::string& key);
  std::int64_t NumberOr(const std::string& key, std::int64_t otherwise) { return Number(key).value_or(otherwise); }
  std::optional<Duration> Span(const std::string& key);
  Duration SpanOr(const std::string& key, Duration otherwise) { return Span(key).value_or(otherwise); }
  // Whether this word stands in the line.
  bool Flag(std::string_view word);

  // Only the first is kept.
  void Fail(const std::string& what);
  // Takes no more: what is left over is a fault. Empty: the line is well.
  std::string Fault();

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string> values_;
  int number_;
  std::string fault_;
};

// "n1,n2" apart at the commas.
std::vector<std::string> SplitAtCommas(std::string_view text);
std::optional<std::int64_t> NumberOf(std::string_view text);

}  // namespace glim::core::testing
