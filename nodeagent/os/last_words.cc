#include "nodeagent/os/last_words.h"

#include <sstream>

#include "sdk/base/printable.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kWordsMax = 1 << 20;
constexpr std::size_t kEndMax = 250;  // of either end: programs say first what they did, and last why it failed

}  // namespace

std::string LastLineIn(const std::string& path, const std::string& none) {
  const Result<std::string> text = ReadFile(path, kWordsMax);
  if (!text.ok()) return none;
  std::string last;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  if (last.empty()) return none;
  if (last.size() <= 2 * kEndMax) return EscapedStart(last, last.size());
  return EscapedStart(last, kEndMax) + " " + EscapedStart(last.substr(last.size() - kEndMax), kEndMax);
}

}  // namespace glim::nodeagent
