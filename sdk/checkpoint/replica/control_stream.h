// One end of a control connection: frames over a nonblocking stream socket, bounded both ways.
#pragma once

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/control_message.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/framed_stream.h"

namespace glim::checkpoint {

// One thread. Once it has failed it stays so.
class ControlStream {
 public:
  explicit ControlStream(UniqueFd socket);

  int descriptor() const { return stream_.descriptor(); }
  // Takes what has come. UNAVAILABLE: the peer has ended the connection, or does not read; INVALID_ARGUMENT: garbage.
  Status Read() { return stream_.Read(); }
  // The next message that is whole, if any. INVALID_ARGUMENT: garbage.
  Result<bool> Next(ControlMessage& message) { return TakeFrame(stream_.input(), message); }
  // Queues, and writes what the socket takes.
  Status Send(const ControlMessage& message) { return stream_.Send(Encode(message)); }
  Status Flush() { return stream_.Flush(); }
  bool wants_to_write() const { return stream_.wants_to_write(); }

 private:
  net::FramedStream stream_;
};

}  // namespace glim::checkpoint
