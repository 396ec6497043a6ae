#include "scheduler/gateway/stream_sink.h"

#include <utility>

namespace glim::gateway {

void StreamSink::Attach(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (!closed_) wake_ = std::move(wake);
}

void StreamSink::Wake() {
  const std::function<void()> wake = [this] {
    const std::lock_guard lock(mutex_);
    return wake_;
  }();
  if (wake) wake();
}

bool StreamSink::Write(Frame frame) {
  if (frame == nullptr || frame->empty()) return true;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || over_) return false;
    const bool full = frames_.size() >= kFramesMax || waiting_ + frame->size() > kBytesMax;
    if (full && waiting_ > 0) return false;
    waiting_ += frame->size();
    frames_.push_back(std::move(frame));
  }
  Wake();
  return true;
}

std::size_t StreamSink::Waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void StreamSink::OnDrained(std::function<void()> drained) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (waiting_ > 0) {
      drained_ = std::move(drained);
      return;
    }
  }
  drained();
}

void StreamSink::Close() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  Wake();
}

void StreamSink::Abort() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    broken_ = true;
  }
  Wake();
}

void StreamSink::OnClosed(std::function<void()> closed) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      on_closed_ = std::move(closed);
      return;
    }
  }
  closed();
}

StreamSink::Taken StreamSink::Take() {
  const std::lock_guard lock(mutex_);
  if (frames_.empty()) return {nullptr, over_, broken_};
  Taken taken{std::move(frames_.front()), false, false};
  frames_.pop_front();
  return taken;
}

void StreamSink::Sent(std::size_t bytes) {
  std::function<void()> drained;
  {
    const std::lock_guard lock(mutex_);
    waiting_ -= bytes;
    if (waiting_ == 0) drained.swap(drained_);
  }
  if (drained) drained();
}

void StreamSink::ConnectionClosed() {
  std::function<void()> closed, drained;
  std::function<void()> wake;  // with the connection, which may go with it
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    frames_.clear();
    drained.swap(drained_);  // never called: what it holds goes
    closed.swap(on_closed_);
    wake.swap(wake_);
  }
  if (closed) closed();
}

}  // namespace glim::gateway
