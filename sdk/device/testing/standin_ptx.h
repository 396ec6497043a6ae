// Kernels of the stand-in: PTX text as its driver takes it, read; standin_ptx_machine.h executes it. It knows the
// instructions that our kernels have (nodeagent/programs/validate/gpu_kernels.h), by the PTX manual,
// https://docs.nvidia.com/cuda/parallel-thread-execution/. Test code alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace glim::device::standin {

enum class PtxOp : std::uint8_t {
  kLoad,
  kStore,
  kReduceAdd,
  kReduceMin,
  kReduceOr,
  kMove,
  kConvert,
  kAdd,
  kMultiplyLow,
  kMultiplyWide,
  kShiftLeft,
  kShiftRight,
  kAnd,
  kXor,
  kFma,
  kEqual,
  kNotEqual,
  kLess,
  kAtLeast,
  kBranch,
  kBarrier,
  kMatrix,
  kReturn,
};
enum class PtxSpace : std::uint8_t { kNone, kParameter, kShared, kGlobal };

struct PtxOperand {
  bool is_register = false;
  std::uint32_t slot = 0;   // of a register
  std::uint64_t value = 0;  // else; of an address: what is added to the register
};

struct PtxInstruction {
  PtxOp op = PtxOp::kReturn;
  PtxSpace space = PtxSpace::kNone;
  std::uint8_t bytes = 4;  // of a number
  bool guarded = false, guard_is_false = false;
  std::uint32_t guard = 0;   // the predicate's register
  std::uint32_t target = 0;  // of a branch
  std::vector<PtxOperand> to, from;
  PtxOperand address;
};

struct PtxKernel {
  std::vector<PtxInstruction> code;
  std::size_t registers = 0;
  std::vector<std::size_t> parameter_bytes;
  std::size_t shared_bytes = 0;
};

// By name. `wrong`: the first statement that this does not know; then there are none.
std::map<std::string, PtxKernel> ReadPtx(const std::string& text, std::string* wrong);

// Registers that every kernel has, before those that it names.
enum PtxSpecial : std::uint32_t { kThreadX, kThreadsX, kBlockX, kBlockY, kBlocksX, kSpecials };

}  // namespace glim::device::standin
