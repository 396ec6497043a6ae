#include "nodeagent/programs/validate/cpu_part.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <thread>

#include "nodeagent/programs/validate/known_answer.h"
#include "nodeagent/programs/validate/node_shape.h"
#include "nodeagent/programs/validate/stopwatch.h"
#include "nodeagent/validate/judge.h"

namespace glim::validate {
namespace {

constexpr int kQuickRounds = 7;
constexpr int kFullRounds = 51;
constexpr double kSecondsMax = 10;   // of one thread: by then it is known to be slow
constexpr double kWholeShare = 0.9;  // of its CPU; a thread that has less shares it with others

struct OfCpu {
  int cpu = 0;
  std::vector<double> ms;
  double had = 0, took = 0;  // seconds of the CPU, and by the clock
  std::uint64_t wrong = 0;   // the first wrong answer
  bool is_wrong = false;
};

void OnePiece(OfCpu& of) {
  const Stopwatch watch;
  const std::uint64_t answer = KnownAnswer(kPieceSteps);
  of.had += watch.CpuSeconds();
  of.took += watch.Seconds();
  of.ms.push_back(watch.Seconds() * 1e3);
  if (answer == kPieceAnswer || of.is_wrong) return;
  of.is_wrong = true;
  of.wrong = answer;
}

Reading ReadingOf(OfCpu& of) {
  Reading reading{.part = "cpu", .what = "piece", .device = "cpu" + std::to_string(of.cpu), .wrong = {}, .note = {}};
  std::nth_element(of.ms.begin(), of.ms.begin() + static_cast<std::ptrdiff_t>(of.ms.size() / 2), of.ms.end());
  reading.value = of.ms[of.ms.size() / 2];
  if (of.is_wrong) {
    char text[96];
    std::snprintf(text, sizeof text, "a wrong answer: 0x%016" PRIx64 " for 0x%016" PRIx64, of.wrong, kPieceAnswer);
    reading.wrong = text;
  }
  const double share = of.took > 0 ? of.had / of.took : 1;
  if (share < kWholeShare) {
    reading.note = "this program had " + std::to_string(static_cast<int>(share * 100)) +
                   " % of that CPU: something else runs there";
  }
  return reading;
}

}  // namespace

Readings MeasureCpu(const Options& options) {
  std::vector<OfCpu> cpus;
  for (const int cpu : AllowedCpus()) cpus.push_back({.cpu = cpu, .ms = {}});
  // A thread of its own is pinned, not the caller's.
  std::thread([&] {
    for (int round = 0; round < (options.full ? kFullRounds : kQuickRounds); ++round) {
      for (OfCpu& of : cpus) {
        if (of.took < kSecondsMax && PinTo(of.cpu)) OnePiece(of);
      }
    }
  }).join();
  std::vector<Reading> readings;
  for (OfCpu& of : cpus) {
    if (!of.ms.empty()) readings.push_back(ReadingOf(of));
  }
  if (readings.empty()) return Status(StatusCode::kUnavailable, "this process may run on no CPU");
  return readings;
}

}  // namespace glim::validate
