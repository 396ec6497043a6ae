#include "sdk/hfreduce/node/copy_bytes.h"

#include <cstdint>
#include <cstring>
#include <span>

#include "sdk/hfreduce/kernels/reduce.h"

namespace glim::hfreduce {

void CopyBytes(void* to, const void* from, std::size_t bytes, bool stream) {
  if (!stream) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  constexpr std::size_t kWord = sizeof(std::int64_t);
  const std::size_t words = bytes / kWord;
  Reduce({.type = DType::kI64, .op = ReduceOp::kSum, .stream = true}, to, std::span(&from, 1), words);
  std::memcpy(static_cast<std::byte*>(to) + words * kWord, static_cast<const std::byte*>(from) + words * kWord,
              bytes % kWord);
#if defined(__x86_64__)
  __builtin_ia32_sfence();  // such stores are not ordered by a release
#endif
}

}  // namespace glim::hfreduce
