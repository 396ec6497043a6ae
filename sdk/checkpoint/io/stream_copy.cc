#include "sdk/checkpoint/io/stream_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace glim::checkpoint {

#if defined(__SSE2__)
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPagesAtOnce = 4;        // as many streams as the hardware follows well
constexpr std::size_t kPrefetchBytes = 256;    // ahead in each
constexpr std::size_t kStreamBytesMin = 1024;  // below, the edges cost more than is won

inline void StreamLine(std::byte* to, const std::byte* from) {
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in);
  const __m128i b = _mm_loadu_si128(in + 1);
  const __m128i c = _mm_loadu_si128(in + 2);
  const __m128i d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

// `bytes` a multiple of a line, `to` aligned to one.
void StreamLines(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kBlock = kPagesAtOnce * kPage;
  for (; bytes >= kBlock; bytes -= kBlock, to += kBlock, from += kBlock) {
    for (std::size_t line = 0; line < kPage; line += kLine) {
      for (std::size_t at = line; at < kBlock; at += kPage) {
        _mm_prefetch(reinterpret_cast<const char*>(from + at + kPrefetchBytes), _MM_HINT_T0);
        StreamLine(to + at, from + at);
      }
    }
  }
  for (std::size_t at = 0; at < bytes; at += kLine) StreamLine(to + at, from + at);
}

}  // namespace

void StreamCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= kStreamBytesMin) {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
    const std::size_t lines = (bytes - head) / kLine * kLine;
    std::memcpy(to, from, head);
    StreamLines(to + head, from + head, lines);
    _mm_sfence();
    to += head + lines, from += head + lines, bytes -= head + lines;
  }
  if (bytes > 0) std::memcpy(to, from, bytes);
}

#else

void StreamCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace glim::checkpoint
