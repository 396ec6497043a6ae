// One end of a control connection: frames over a nonblocking stream socket, bounded both ways.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/control_message.h"
#include "sdk/hfreduce/transport/socket.h"

namespace glim::checkpoint {

// One thread. Once it has failed it stays so.
class ControlStream {
 public:
  explicit ControlStream(UniqueFd socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  // Takes what has come. UNAVAILABLE: the peer has ended the connection, or does not read; INVALID_ARGUMENT: garbage.
  Status Read();
  // The next message that is whole, if any. INVALID_ARGUMENT: garbage.
  Result<bool> Next(ControlMessage& message) { return TakeFrame(input_, message); }
  // Queues, and writes what the socket takes.
  Status Send(const ControlMessage& message);
  Status Flush();
  bool wants_to_write() const { return !output_.empty(); }

 private:
  UniqueFd socket_;
  std::string input_;
  std::string output_;
};

}  // namespace glim::checkpoint
