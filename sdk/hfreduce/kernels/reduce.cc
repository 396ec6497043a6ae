#include "sdk/hfreduce/kernels/reduce.h"

#include <cstring>

#include "sdk/base/check.h"
#include "sdk/hfreduce/kernels/default_rounding.h"
#include "sdk/hfreduce/kernels/families.h"

namespace glim::hfreduce {

namespace {

void Copy(const KernelCall& call) {
  if (call.destination == call.sources[0]) return;
  if (call.args.stream) return StreamCopy(call);
  std::memcpy(call.destination, call.sources[0], call.bytes);
}

void Dispatch(const KernelCall& call) {
  switch (call.args.type) {
    case DType::kF32:
    case DType::kF64: return ReduceFloat(call);
    case DType::kF16:
    case DType::kBF16: return ReduceFloat16(call);
    case DType::kF8E4M3:
    case DType::kF8E5M2: return ReduceFloat8(call);
    case DType::kI32:
    case DType::kI64: return ReduceInteger(call);
    default: GLIM_CHECK(false, "only a type that IsReducible");
  }
}

}  // namespace

void Reduce(const ReduceArgs& args, void* destination, std::span<const void* const> sources, std::size_t count) {
  GLIM_CHECK(!sources.empty() && sources.size() <= kSourcesMax, "between 1 and kSourcesMax sources");
  GLIM_CHECK(args.divisor >= 1 && (args.divisor == 1 || args.op == ReduceOp::kAverage), "only an average is divided");
  if (count == 0) return;
  const std::uint8_t* addresses[kSourcesMax];
  for (std::size_t s = 0; s < sources.size(); ++s) addresses[s] = static_cast<const std::uint8_t*>(sources[s]);
  const KernelCall call{args, static_cast<std::uint8_t*>(destination), addresses, sources.size(),
                        count * SizeOf(args.type)};
  if (sources.size() == 1 && args.divisor == 1) return Copy(call);
  const DefaultRounding rounding;
  Dispatch(call);
}

}  // namespace glim::hfreduce
