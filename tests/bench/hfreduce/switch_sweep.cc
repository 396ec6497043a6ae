#include "tests/bench/hfreduce/switch_sweep.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/bench/hfreduce/bench_run.h"

namespace glim::hfreduce::bench {
namespace {

constexpr std::size_t kBytesMin = 1 << 10;
constexpr std::size_t kBytesMax = 1 << 20;
constexpr int kRounds = 5;           // each way in each: what else the machine does falls on both
constexpr double kNotSlower = 1.05;  // repeated runs differ by so much

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

Result<std::string> MeasureSwitch(const Setup& setup) {
  nlohmann::ordered_json line{{"bench", "hfreduce-switch"}, {"nodes", setup.nodes}, {"local", setup.local}};
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
  std::size_t switch_bytes = 0;
  bool never_slower = true;
  for (std::size_t bytes = kBytesMin; bytes <= kBytesMax; bytes *= 2) {
    std::vector<double> direct;
    std::vector<double> trees;
    for (int round = 0; round < kRounds; ++round) {
      for (std::vector<double>* times : {&direct, &trees}) {
        Setup one = setup;
        one.bytes = bytes;
        one.latency_path_bytes_max = times == &direct ? kBytesMax : 0;
        const Result<std::string> measured = Run(one);
        if (!measured.ok()) return measured.status();
        const nlohmann::json said = nlohmann::json::parse(*measured);
        times->push_back(said.at("median_us").get<double>());
        line["transport"] = said.at("transport");
      }
    }
    const double latency_path = MedianOf(direct);
    const double tree = MedianOf(trees);
    sizes.push_back({{"bytes", bytes}, {"latency_path_us", latency_path}, {"trees_us", tree}});
    never_slower = never_slower && latency_path <= tree * kNotSlower;
    if (never_slower) switch_bytes = bytes;
  }
  line["switch_bytes"] = switch_bytes;
  line["sizes"] = std::move(sizes);
  return line.dump();
}

}  // namespace glim::hfreduce::bench
