// One end of a connection that carries messages: what has come of the next ones, and what has still to go out. Who uses
// it knows where a message ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "sdk/base/status.h"
#include "sdk/io/unique_fd.h"

namespace glim::net {

// One thread at a time. Nothing blocks: the socket is nonblocking. After an error the connection is of no use.
class FramedStream {
 public:
  // Bytes that may wait. Not more than `input` is ever read ahead, so that what follows can be left to another reader.
  struct Bounds {
    std::size_t input = 0;
    std::size_t output = 0;
  };

  FramedStream() = default;
  FramedStream(UniqueFd socket, Bounds bounds) : socket_(std::move(socket)), bounds_(bounds) {}

  int descriptor() const { return socket_.get(); }
  explicit operator bool() const { return bool{socket_}; }
  // What has come and was not taken: its first bytes are the next message's.
  std::string& input() { return input_; }
  bool wants_to_write() const { return !output_.empty(); }

  // Takes what has come, until `input` is full. UNAVAILABLE: the other side ended the connection, or it broke; what had
  // come before is in `input`.
  Status Read();
  // Queues, and writes what the socket takes. UNAVAILABLE: the connection broke, or the other side does not read.
  Status Send(std::string_view bytes);
  Status Flush();
  // The socket, for somebody else; this end is over.
  UniqueFd Release() { return std::move(socket_); }

 private:
  UniqueFd socket_;
  Bounds bounds_;
  std::string input_;
  std::string output_;
};

}  // namespace glim::net
