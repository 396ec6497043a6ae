// What a long stream over HTTP is fed by: the gateway owns the connection, and whoever has registered the route hands
// it frames. A frame is serialised once and shared by all connections that are sent it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/status.h"

namespace google::protobuf {
class Message;
}

namespace glim::v1 {
class StreamLogRequest;
}

namespace glim::gateway {

class ReadStream;  // backend.h

// One connection that waits for frames ("id: 7\ndata: {...}\n\n"). Any thread, also from within OnClosed's callback.
class SseSink {
 public:
  using Frame = std::shared_ptr<const std::string>;

  // What may wait for a reader that is slow, beside what the kernel holds.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;
  static constexpr std::size_t kFramesMax = 256;

  virtual ~SseSink() = default;

  // Sent after all that was written before. False: it was not taken, for the connection is closed or so much waits
  // that this frame has no room; the writer then drops what it has, closes, or writes a newer state once Waiting says
  // 0. A first frame of any size is taken.
  virtual bool Write(Frame frame) = 0;
  // Bytes that were taken and are not sent yet.
  virtual std::size_t Waiting() const = 0;
  // `drained` is called once, from the gateway's thread, when nothing waits any more; at once if nothing does.
  virtual void OnDrained(std::function<void()> drained) = 0;
  // Ends the stream after what was taken. Idempotent.
  virtual void Close() = 0;
  // `closed` is called once, from the gateway's thread, when the reader has gone, was too slow (30 s without a byte
  // taken) or Close is done; at once if it is closed already. It may drop the last reference to the sink.
  virtual void OnClosed(std::function<void()> closed) = 0;
};

// Who asks, as ClientApi/WhoAmI has said it, so as the door did.
struct StreamCaller {
  std::string user;
  std::string role;  // viewer, user, operator, admin
  std::vector<std::string> teams;
  std::vector<std::string> admin_of;
  std::string token;  // its id; empty in plaintext mode
  std::string scope;
  std::int64_t expires_at_ms = 0;  // 0: never
  // Asks the door again with the call's own credentials: `told` hears once, from any thread, whether the caller still
  // counts and what it may now. For streams that outlive a change of rights.
  std::function<void(std::function<void(const Status&, const StreamCaller&)> told)> ask_again;
  // ClientApi/StreamLog with the call's own credentials, as Backend::Open has it: the door looks at it as it does at
  // everybody's. Null: the backend has stopped.
  std::function<std::shared_ptr<ReadStream>(
      const v1::StreamLogRequest& request,
      std::function<void(const google::protobuf::Message* message, const Status& end)> told)>
      read_log;
};

struct StreamRequest {
  std::string path;                                        // "/v1/stream"
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::string last_event_id;                               // of a browser that comes again; empty: none
  std::string peer;                                        // "ipv4:10.0.0.7", as the door's limits name it
};

// Who feeds GET /v1/stream. Outlives the gateway.
class StreamRoutes {
 public:
  virtual ~StreamRoutes() = default;
  // On a thread of the gateway's; returns at once. Ok: the head of the answer (200, text/event-stream) is sent, and
  // `sink` is the callee's to feed. Else the status is the answer, and the sink is dropped.
  virtual Status Open(const StreamRequest& request, const StreamCaller& caller, std::shared_ptr<SseSink> sink) = 0;
};

}  // namespace glim::gateway
