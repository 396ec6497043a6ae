#include "nodeagent/validate/cpu_list.h"

#include <cstddef>

namespace glim::validate {
namespace {

constexpr int kCpuMax = 1 << 16;

// -1: there is no number at `at`.
int NumberAt(std::string_view text, std::size_t& at) {
  int number = -1;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && number < kCpuMax; ++at) {
    number = (number < 0 ? 0 : number) * 10 + (text[at] - '0');
  }
  return number < kCpuMax ? number : -1;
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int first = NumberAt(text, at);
    if (first < 0) return cpus;
    int last = first;
    if (at < text.size() && text[at] == '-') last = NumberAt(text, ++at);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at < text.size() && text[at] != ',') return cpus;
  }
  return cpus;
}

}  // namespace glim::validate
