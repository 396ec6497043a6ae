// StreamSink: what of a stream waits for its connection. Writers are on any thread; the connection takes on its strand.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "scheduler/gateway/sse_sink.h"

namespace glim::gateway {

class StreamSink final : public SseSink {
 public:
  // `wake` tells the connection, from any thread, that something is written; before it has one, that waits.
  void Attach(std::function<void()> wake);

  bool Write(Frame frame) override;
  std::size_t Waiting() const override;
  void OnDrained(std::function<void()> drained) override;
  void Close() override;
  void OnClosed(std::function<void()> closed) override;
  // Ends it so that the reader sees that something is missing.
  void Abort();

  // The connection's side.
  struct Taken {
    Frame frame;        // null: nothing waits
    bool over = false;  // and nothing will come
    bool broken = false;
  };
  Taken Take();
  void Sent(std::size_t bytes);
  void ConnectionClosed();

 private:
  void Wake();

  mutable std::mutex mutex_;    // guards what follows
  std::function<void()> wake_;  // holds the connection; null: there is none yet, or it is closed
  std::deque<Frame> frames_;
  std::size_t waiting_ = 0;
  bool over_ = false;
  bool broken_ = false;
  bool closed_ = false;
  std::function<void()> drained_;
  std::function<void()> on_closed_;
};

}  // namespace glim::gateway
