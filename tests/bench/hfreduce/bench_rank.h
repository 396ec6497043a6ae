// One rank of the bench, and the board on which it leaves its figures for the parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "tests/bench/hfreduce/bench_setup.h"

namespace glim::hfreduce::bench {

// In memory that is shared with children. Each rank writes its own places.
class Board {
 public:
  static Result<std::unique_ptr<Board>> Create(const Setup& setup);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  double& time(std::uint32_t rank, std::uint32_t iteration) { return times_[rank * iterations_ + iteration]; }
  double time(std::uint32_t rank, std::uint32_t iteration) const { return times_[rank * iterations_ + iteration]; }
  double& cpu(std::uint32_t rank) { return cpu_[rank]; }  // microseconds in all timed iterations
  double cpu(std::uint32_t rank) const { return cpu_[rank]; }
  std::uint64_t& sent(std::uint32_t from, std::uint32_t to) { return sent_[from * nodes_ + to]; }
  std::uint64_t sent(std::uint32_t from, std::uint32_t to) const { return sent_[from * nodes_ + to]; }
  void set_transport(const std::string& name) { name.copy(name_, kNameBytes - 1); }
  std::string transport() const { return name_; }

 private:
  static constexpr std::size_t kNameBytes = 16;

  Board() = default;

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t iterations_ = 0;
  std::uint32_t nodes_ = 0;
  double* times_ = nullptr;
  double* cpu_ = nullptr;
  std::uint64_t* sent_ = nullptr;
  char* name_ = nullptr;
};

// False, and a line on standard error, if anything failed or a result was wrong.
bool RunRank(const Setup& setup, std::uint32_t rank, std::uint16_t port, Board& board);

}  // namespace glim::hfreduce::bench
