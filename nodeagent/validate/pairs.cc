#include "nodeagent/validate/pairs.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace glim::validate {

std::vector<std::vector<Pair>> RoundsOf(std::uint32_t nodes) {
  std::vector<std::vector<Pair>> rounds;
  if (nodes < 2) return rounds;
  const std::uint32_t seats = nodes + nodes % 2;  // the last seat is empty if the number is odd
  for (std::uint32_t round = 0; round + 1 < seats; ++round) {
    std::vector<Pair>& pairs = rounds.emplace_back();
    // The last seat stays; the others move on by one.
    const auto seat = [&](std::uint32_t place) { return place == 0 ? seats - 1 : (round + place) % (seats - 1); };
    for (std::uint32_t i = 0; i < seats / 2; ++i) {
      const std::uint32_t a = seat(i);
      const std::uint32_t b = seat(i == 0 ? seats - 1 : seats - 1 - i);
      if (a < nodes && b < nodes) pairs.push_back({std::min(a, b), std::max(a, b)});
    }
  }
  return rounds;
}

std::vector<Reading> WithSlowestNoted(std::vector<PairReading> readings, const std::vector<std::string>& names) {
  for (std::uint32_t node = 0; node < names.size(); ++node) {
    PairReading* slowest = nullptr;
    for (PairReading& one : readings) {
      const bool its = (one.from == node || one.to == node) && one.reading.what == "stream";
      if (its && (slowest == nullptr || one.reading.value < slowest->reading.value)) slowest = &one;
    }
    if (slowest == nullptr) continue;
    std::string& note = slowest->reading.note;
    note += (note.empty() ? "the slowest of " : " and of ") + names[node];
  }
  std::vector<Reading> all;
  for (PairReading& one : readings) all.push_back(std::move(one.reading));
  return all;
}

}  // namespace glim::validate
