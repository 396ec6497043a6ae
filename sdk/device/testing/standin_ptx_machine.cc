#include "sdk/device/testing/standin_ptx_machine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace glim::device::standin {
namespace {

constexpr std::size_t kWarp = 32;

struct Thread {
  enum class State : std::uint8_t { kRuns, kAtBarrier, kAtMatrix, kDone };
  State state = State::kRuns;
  std::uint32_t at = 0;
  std::vector<std::uint64_t> registers;
};

float FloatOf(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint64_t BitsOf(float value) { return std::bit_cast<std::uint32_t>(value); }

// Its threads by turns, each until it waits for the others.
class Block {
 public:
  Block(const PtxKernel& kernel, const PtxLaunch& launch, std::uint32_t x, std::uint32_t y)
      : kernel_(kernel), launch_(launch), shared_(kernel.shared_bytes), threads_(launch.threads) {
    for (std::uint32_t i = 0; i < launch.threads; ++i) {
      std::vector<std::uint64_t>& registers = threads_[i].registers;
      registers.assign(std::max<std::size_t>(kernel.registers, kSpecials), 0);
      registers[kThreadX] = i;
      registers[kThreadsX] = launch.threads;
      registers[kBlockX] = x;
      registers[kBlockY] = y;
      registers[kBlocksX] = launch.blocks_x;
    }
  }

  // False: an address led nowhere.
  bool Run() {
    const auto done = [](const Thread& thread) { return thread.state == Thread::State::kDone; };
    while (!std::all_of(threads_.begin(), threads_.end(), done)) {
      for (Thread& thread : threads_) {
        while (thread.state == Thread::State::kRuns) Step(thread);
      }
      if (fault_) return false;
      Release();
    }
    return true;
  }

  std::uint64_t instructions() const { return instructions_; }

 private:
  void Release() {
    for (std::size_t warp = 0; warp + kWarp <= threads_.size(); warp += kWarp) {
      const auto begin = threads_.begin() + static_cast<std::ptrdiff_t>(warp);
      const auto at_matrix = [](const Thread& thread) { return thread.state == Thread::State::kAtMatrix; };
      if (std::all_of(begin, begin + kWarp, at_matrix)) Matrix(&*begin);
    }
    // A barrier opens when all that are not done are at it.
    for (const Thread& thread : threads_) {
      if (thread.state == Thread::State::kRuns || thread.state == Thread::State::kAtMatrix) return;
    }
    for (Thread& thread : threads_) {
      if (thread.state == Thread::State::kAtBarrier) thread.state = Thread::State::kRuns;
    }
  }

  static std::uint64_t Value(const Thread& thread, const PtxOperand& operand) {
    return operand.is_register ? thread.registers[operand.slot] : operand.value;
  }

  std::byte* Place(const Thread& thread, const PtxInstruction& in, std::size_t bytes) {
    const std::uint64_t address = in.address.value + (in.address.is_register ? thread.registers[in.address.slot] : 0);
    std::byte* place = nullptr;
    if (in.space == PtxSpace::kShared && address + bytes <= shared_.size()) place = shared_.data() + address;
    if (in.space == PtxSpace::kGlobal) place = launch_.reach(address, bytes);
    if (place == nullptr || address % bytes != 0) fault_ = true;
    return fault_ ? nullptr : place;
  }

  void Load(Thread& thread, const PtxInstruction& in) {
    if (in.space == PtxSpace::kParameter) {
      const std::uint64_t value = launch_.arguments[in.address.value];
      thread.registers[in.to[0].slot] = in.bytes == 8 ? value : value & 0xFFFFFFFF;
      return;
    }
    const std::byte* place = Place(thread, in, in.bytes * in.to.size());
    for (std::size_t i = 0; place != nullptr && i < in.to.size(); ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, place + i * in.bytes, in.bytes);
      thread.registers[in.to[i].slot] = value;
    }
  }

  void Store(Thread& thread, const PtxInstruction& in) {
    std::byte* place = Place(thread, in, in.bytes * in.from.size());
    for (std::size_t i = 0; place != nullptr && i < in.from.size(); ++i) {
      const std::uint64_t value = Value(thread, in.from[i]);
      std::memcpy(place + i * in.bytes, &value, in.bytes);
    }
  }

  void Reduce(Thread& thread, const PtxInstruction& in) {
    std::byte* place = Place(thread, in, in.bytes);
    if (place == nullptr) return;
    std::uint64_t is = 0;
    std::memcpy(&is, place, in.bytes);
    const std::uint64_t value = Value(thread, in.from[0]);
    if (in.op == PtxOp::kReduceAdd) is += value;
    if (in.op == PtxOp::kReduceMin) is = std::min(is, value);
    if (in.op == PtxOp::kReduceOr) is |= value;
    std::memcpy(place, &is, in.bytes);
  }

  // Of whole numbers; 32 bits are the low half of a register, and its high half is 0.
  static std::uint64_t Computed(const Thread& thread, const PtxInstruction& in) {
    const std::uint64_t a = Value(thread, in.from[0]);
    const std::uint64_t b = in.from.size() > 1 ? Value(thread, in.from[1]) : 0;
    switch (in.op) {
      case PtxOp::kMove:
      case PtxOp::kConvert: return a;
      case PtxOp::kAdd: return a + b;
      case PtxOp::kMultiplyLow: return a * b;
      case PtxOp::kMultiplyWide: return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
      case PtxOp::kShiftLeft: return a << b;
      case PtxOp::kShiftRight: return a >> b;
      case PtxOp::kAnd: return a & b;
      case PtxOp::kXor: return a ^ b;
      case PtxOp::kEqual: return a == b ? 1 : 0;
      case PtxOp::kNotEqual: return a != b ? 1 : 0;
      case PtxOp::kLess: return a < b ? 1 : 0;
      case PtxOp::kAtLeast: return a >= b ? 1 : 0;
      case PtxOp::kFma: return BitsOf(std::fma(FloatOf(a), FloatOf(b), FloatOf(Value(thread, in.from[2]))));
      default: return 0;
    }
  }

  void Step(Thread& thread) {
    const PtxInstruction& in = kernel_.code[thread.at++];
    ++instructions_;
    if (in.guarded && (thread.registers[in.guard] != 0) == in.guard_is_false) return;
    switch (in.op) {
      case PtxOp::kLoad: Load(thread, in); break;
      case PtxOp::kStore: Store(thread, in); break;
      case PtxOp::kReduceAdd:
      case PtxOp::kReduceMin:
      case PtxOp::kReduceOr: Reduce(thread, in); break;
      case PtxOp::kBranch: thread.at = in.target; break;
      case PtxOp::kBarrier: thread.state = Thread::State::kAtBarrier; break;
      case PtxOp::kMatrix: thread.state = Thread::State::kAtMatrix; break;
      case PtxOp::kReturn: thread.state = Thread::State::kDone; break;
      default: {
        const bool wide = in.bytes == 8 || in.op == PtxOp::kMultiplyWide;
        const std::uint64_t value = Computed(thread, in);
        thread.registers[in.to[0].slot] = wide ? value : value & 0xFFFFFFFF;
      }
    }
    if (fault_) thread.state = Thread::State::kDone;
  }

  // mma.m16n8k16 with bfloat16, as the manual lays its numbers into the threads of a warp. from: 4 registers of a, 2 of
  // b, 4 of c.
  void Matrix(Thread* warp) const {
    const PtxInstruction& in = kernel_.code[warp->at - 1];
    float a[16][16], b[16][8];
    const auto half = [&](std::size_t lane, std::size_t from, std::size_t which) {
      const std::uint64_t pair = warp[lane].registers[in.from[from].slot];
      return FloatOf((which == 0 ? pair << 16 : pair) & 0xFFFF0000);
    };
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      const std::size_t group = lane / 4, pair = lane % 4 * 2;
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t r = 0; r < 4; ++r) a[group + r % 2 * 8][pair + i + r / 2 * 8] = half(lane, r, i);
        for (std::size_t r = 0; r < 2; ++r) b[pair + i + r * 8][group] = half(lane, 4 + r, i);
      }
    }
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float sum = FloatOf(warp[lane].registers[in.from[6 + i].slot]);
        for (std::size_t k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
        warp[lane].registers[in.to[i].slot] = BitsOf(sum);
      }
      warp[lane].state = Thread::State::kRuns;
    }
  }

  const PtxKernel& kernel_;
  const PtxLaunch& launch_;
  std::vector<std::byte> shared_;
  std::vector<Thread> threads_;
  std::uint64_t instructions_ = 0;
  bool fault_ = false;
};

}  // namespace

std::optional<std::uint64_t> Execute(const PtxKernel& kernel, const PtxLaunch& launch) {
  std::uint64_t instructions = 0;
  for (std::uint32_t y = 0; y < launch.blocks_y; ++y) {
    for (std::uint32_t x = 0; x < launch.blocks_x; ++x) {
      Block block(kernel, launch, x, y);
      if (!block.Run()) return std::nullopt;
      instructions += block.instructions();
    }
  }
  return instructions;
}

}  // namespace glim::device::standin
