#include "nodeagent/task/stack_words.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace glim::nodeagent {
namespace {

constexpr int kFramesNamed = 4;

// `  File "/srv/train.py", line 41 in wait_for_peer`
std::string FrameInWords(const std::string& line) {
  const std::size_t open = line.find('"'), close = line.rfind("\", line ");
  if (open == std::string::npos || close == std::string::npos || close <= open) return "";
  const std::string path = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 8));
  std::string number, in, function;
  rest >> number >> in;
  std::getline(rest >> std::ws, function);
  if (in != "in" || function.empty()) return "";
  return function + ", " + path.substr(path.rfind('/') + 1) + ":" + number;
}

// `#1  0x00007f in wait_for_peer (...) at train.c:41`
std::string FunctionOf(std::string line) {
  line.erase(0, line.find_first_not_of("#0123456789"));
  if (const std::size_t in = line.find(" in "); line.find("0x") < in && in != std::string::npos) line.erase(0, in + 4);
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find(" (", begin) - begin);
}

}  // namespace

std::string InnermostOfPython(const std::string& stacks) {
  std::istringstream lines(stacks);
  std::string words;
  bool first = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("most recent call first") != std::string::npos) {
      first = true;
    } else if (first && line.starts_with("  File ")) {
      words = FrameInWords(line);
      first = false;
    }
  }
  return words;
}

std::string InnermostOfDebugger(const std::string& stacks) {
  std::istringstream lines(stacks);
  std::string words;
  bool is_main = false;
  int named = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Thread ")) {
      is_main = line.starts_with("Thread 1 ");
    } else if (is_main && line.starts_with("#") && named < kFramesNamed) {
      const std::string function = FunctionOf(line);
      if (function.empty() || function == "??") continue;
      words += (named++ == 0 ? "" : " < ") + function;
    }
  }
  return words;
}

}  // namespace glim::nodeagent
