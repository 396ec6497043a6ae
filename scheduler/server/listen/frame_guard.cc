#include "scheduler/server/listen/frame_guard.h"

#include <algorithm>

namespace glim::server {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 9113, 6.
enum Kind : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::uint32_t kSettingsBytes = 256;  // of a frame; there are six, of 6 bytes each, and gRPC's own

// What a client of gRPC's sends, other than headers.
bool IsOfUse(std::uint8_t kind, std::uint8_t flags, std::uint32_t length) {
  switch (kind) {
    case kData: return length > 0 || (flags & kEndStream) != 0;
    case kSettings: return length <= kSettingsBytes;
    case kResetStream:
    case kPing:
    case kWindowUpdate: return true;
    default: return false;
  }
}

}  // namespace

std::string_view FrameGuard::Take(std::string_view bytes, TimePoint now) {
  while (fault_.empty() && !bytes.empty()) {
    std::size_t taken = 1;
    if (preface_ < kPreface.size()) {
      if (bytes.front() != kPreface[preface_++]) fault_ = "it speaks no HTTP/2";
    } else if (rest_ > 0) {
      taken = std::min<std::size_t>(rest_, bytes.size());
      rest_ -= static_cast<std::uint32_t>(taken);
    } else {
      head_[head_size_++] = static_cast<unsigned char>(bytes.front());
      if (head_size_ == head_.size()) fault_ = TakeHead(now);
    }
    bytes.remove_prefix(taken);
  }
  if (fault_.empty() && in_block_ && now - block_since_ > kBlockTimeMax) fault_ = "a header block takes too long";
  return fault_;
}

std::string_view FrameGuard::TakeHead(TimePoint now) {
  head_size_ = 0;
  const std::uint32_t length = std::uint32_t{head_[0]} << 16 | std::uint32_t{head_[1]} << 8 | head_[2];
  const std::uint8_t kind = head_[3], flags = head_[4];
  const std::uint32_t stream =
      std::uint32_t{head_[5] & 0x7FU} << 24 | std::uint32_t{head_[6]} << 16 | std::uint32_t{head_[7]} << 8 | head_[8];
  rest_ = length;
  if (in_block_ != (kind == kContinuation) || (in_block_ && stream != block_stream_)) {
    return "its frames are not in HTTP/2's order";
  }
  const std::uint64_t whole = head_.size() + length;
  if (kind == kHeaders || kind == kContinuation) return TakeHeaders(whole, flags, stream, kind == kHeaders, now);
  if (IsOfUse(kind, flags, length)) return {};
  idle_bytes_ += whole;
  return idle_bytes_ > kIdleBytesMax ? "it sends frames that mean nothing" : std::string_view();
}

std::string_view FrameGuard::TakeHeaders(std::uint64_t length, std::uint8_t flags, std::uint32_t stream, bool begins,
                                         TimePoint now) {
  if (begins) {
    block_stream_ = stream;
    block_frames_ = 0;
    block_bytes_ = 0;
    block_since_ = now;
  }
  block_bytes_ += length;
  in_block_ = (flags & kEndHeaders) == 0;
  if (block_bytes_ > kBlockBytesMax || ++block_frames_ > kBlockFramesMax) return "a header block is too long";
  return {};
}

}  // namespace glim::server
