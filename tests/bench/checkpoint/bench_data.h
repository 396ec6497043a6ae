// A model's worth of tensors, a folder for its checkpoints, and medians.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/save/saver.h"
#include "tests/bench/checkpoint/bench.h"

namespace glim::checkpoint::bench {

// Page-aligned memory in huge pages where there are any, every page touched. Owns it.
class Memory {
 public:
  static Result<Memory> Create(std::uint64_t bytes);
  std::span<std::byte> bytes() const { return {memory_.get(), bytes_}; }

 private:
  struct Unmap {
    std::uint64_t bytes;
    void operator()(std::byte* memory) const;
  };
  Memory(std::byte* memory, std::uint64_t bytes) : memory_(memory, Unmap{bytes}), bytes_(bytes) {}

  std::unique_ptr<std::byte, Unmap> memory_;
  std::uint64_t bytes_;
};

// Tensors of fp32, side by side in one piece of memory, none of it zero.
class Model {
 public:
  static Result<Model> Create(const Setup& setup);
  std::span<const SaveTensor> tensors() const { return tensors_; }
  std::span<std::byte> bytes() const { return memory_.bytes(); }

 private:
  explicit Model(Memory memory) : memory_(std::move(memory)) {}

  Memory memory_;
  std::vector<SaveTensor> tensors_;
};

// `dir`/ckpt-bench-PID, removed at the end.
class BenchFolder {
 public:
  explicit BenchFolder(const std::string& dir);
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  const std::string& path() const { return path_; }
  // Takes every file in it out of the page cache, or reads it in.
  void DropFromCache() const;
  void ReadIntoCache() const;

 private:
  void ForEachFile(const std::function<void(int fd)>& work) const;

  const std::string path_;
};

// Nothing is removed between saves: only the save is measured.
Result<std::unique_ptr<Saver>> MakeSaver(const Setup& setup, const BenchFolder& folder);
// When nothing of an earlier save is under way any more.
Result<SaveReport> SaveAndWait(Saver& saver, std::uint64_t step, const Model& model);

double Median(std::vector<double> values);
double Least(const std::vector<double>& values);
double MillisOf(const std::function<void()>& work);
// In 10^9 bytes.
double GBps(std::uint64_t bytes, double ms);
// What all lines of a bench begin with.
nlohmann::ordered_json LineOf(const std::string& bench, const Setup& setup, const IoReport& io);

}  // namespace glim::checkpoint::bench
