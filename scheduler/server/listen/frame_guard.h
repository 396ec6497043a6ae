// FrameGuard: looks at what comes by one connection of HTTP/2 before gRPC does, and says when it goes too far.
//
// gRPC 1.51 bounds the headers in each frame and not those of a block, which may go on in CONTINUATION frames for ever
// (CVE-2023-33953): neither a quota nor a service hears of it before it is whole. Here a block has so many bytes, so
// many frames and so much time, whoever sends it and whatever came before. Frames that no client of gRPC's sends are
// bounded as well. Messages are not looked at: gRPC bounds them.
//
// One connection, one thread at a time. Has 64 bytes, whatever comes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sdk/base/time.h"

namespace glim::server {

class FrameGuard {
 public:
  // Of a header block, heads of frames included. gRPC takes 8 KiB of headers, however they are packed, and tells who
  // sends a little more why it is refused.
  static constexpr std::uint64_t kBlockBytesMax = 16 << 10;
  // gRPC's bound holds for each frame: so many times as much may be held. Clients write what gRPC takes in one.
  static constexpr int kBlockFramesMax = 4;
  static constexpr Duration kBlockTimeMax = Seconds(20);  // as long as a handshake
  // Ever, of what means nothing to a server of gRPC's: kinds that it skips, messages without a byte.
  static constexpr std::uint64_t kIdleBytesMax = 64 << 10;

  // The next bytes of the connection. Empty: they may be handed on. Else why they may not: hang up; it stays so.
  std::string_view Take(std::string_view bytes, TimePoint now);
  std::string_view fault() const { return fault_; }  // empty: there is none

 private:
  std::string_view TakeHead(TimePoint now);
  std::string_view TakeHeaders(std::uint64_t length, std::uint8_t flags, std::uint32_t stream, bool begins,
                               TimePoint now);

  std::string_view fault_;
  std::size_t preface_ = 0;              // bytes of it that have come
  std::array<unsigned char, 9> head_{};  // of the next frame
  std::size_t head_size_ = 0;            // bytes of it that have come
  std::uint32_t rest_ = 0;               // of the frame's payload, to come
  bool in_block_ = false;
  std::uint32_t block_stream_ = 0;
  int block_frames_ = 0;
  std::uint64_t block_bytes_ = 0;
  TimePoint block_since_;
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace glim::server
