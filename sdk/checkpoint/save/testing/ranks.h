// For tests: jobs with real data, and ranks as processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/format/tensor.h"
#include "sdk/checkpoint/save/saver.h"

namespace glim::checkpoint::testing {

// Bytes that follow from `seed`, no two stretches alike.
std::vector<std::byte> NoiseOf(std::size_t bytes, std::uint64_t seed);

// Whole tensors, and what each rank holds of them. Not to be copied: the ranks' tensors point into it.
struct DataJob {
  std::map<std::string, TensorInfo> infos;
  std::map<std::string, std::vector<std::byte>> whole;
  std::vector<std::vector<SaveTensor>> ranks;

  explicit DataJob(std::uint32_t world) : ranks(world) {}
  DataJob(const DataJob&) = delete;
  DataJob& operator=(const DataJob&) = delete;

  void AddReplicated(const TensorInfo& info);
  void AddOwn(const TensorInfo& info, std::uint32_t rank);
  // Evenly, in the order of the ranks.
  void AddRows(const TensorInfo& info);
  // Of all types and placements, odd sizes, now and then one of several chunks, empty, or a scalar.
  void AddRandom(Rng& rng, std::uint32_t count);

 private:
  SaveTensor Whole(const TensorInfo& info, Placement placement);
};

// Options of a job in `path`, which is made. The clock stands still.
SaverOptions OptionsOf(const std::string& path, std::uint32_t rank = 0, std::uint32_t world = 1);
std::int64_t StandingClock();

// Saves `tensors` and waits until that is durable.
Result<SaveReport> SaveAndWait(Saver& saver, std::uint64_t step, std::span<const SaveTensor> tensors);

// Runs `body` in a process for each rank, all at once; what they said, "" if nothing was wrong. Who does not end by
// itself within two minutes is killed ("signal 14").
std::vector<std::string> InProcesses(std::uint32_t world, const std::function<std::string(std::uint32_t rank)>& body);

}  // namespace glim::checkpoint::testing
