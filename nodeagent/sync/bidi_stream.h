// BidiStream<Out, In>: one gRPC client stream whose every event comes to the agent's loop.
//
// gRPC calls a reactor from threads of its own; here each such call is posted to the io_context, so that the handlers,
// Write and Cancel all run on the loop and need no lock. The stream keeps itself and the loop alive until it is done.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "sdk/threads/hand_over.h"

namespace glim::nodeagent {

template <typename Out, typename In>
class BidiStream final : public grpc::ClientBidiReactor<Out, In> {
 public:
  struct Handlers {
    std::function<void(In)> on_read;
    std::function<void()> on_written;                  // the one write under way is through
    std::function<void(const grpc::Status&)> on_done;  // the last call
  };
  using Bind = std::function<void(grpc::ClientContext*, BidiStream*)>;

  static std::shared_ptr<BidiStream> Open(boost::asio::io_context& io, const Bind& bind, Handlers handlers) {
    auto stream = std::shared_ptr<BidiStream>(new BidiStream(io, std::move(handlers)));
    stream->self_ = stream;
    bind(&stream->context_, stream.get());
    stream->AddHold();  // Start* comes from the loop, not from reactions
    stream->StartRead(&stream->in_);
    HandOver(stream.get());
    stream->StartCall();
    return stream;
  }

  // At most one at a time; the next after on_written. Dropped when the stream is over.
  void Write(Out message) {
    if (over_) return;
    out_ = std::move(message);
    this->StartWrite(&out_);
  }

  void Cancel() { context_.TryCancel(); }

 private:
  BidiStream(boost::asio::io_context& io, Handlers handlers)
      : work_(io.get_executor()), handlers_(std::move(handlers)) {}

  template <typename Function>
  void Post(Function function) {
    TakeOver(this);
    auto call = [self = self_, function = std::move(function)] { function(*self); };
    const auto loop = work_.get_executor();
    HandOver(this);  // to OnDone; once posted, the stream may go at any time
    boost::asio::post(loop, std::move(call));
  }

  void OnReadDone(bool ok) override {
    Post([ok](BidiStream& self) {
      if (!ok) {
        self.over_ = true;
        self.RemoveHold();
        return;
      }
      In message = std::exchange(self.in_, In());
      self.handlers_.on_read(std::move(message));
      self.StartRead(&self.in_);
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;  // the read fails as well, and ends it
    Post([](BidiStream& self) {
      if (!self.over_) self.handlers_.on_written();
    });
  }

  void OnDone(const grpc::Status& status) override {
    TakeOver(this);
    // Moved out: when the posted function has run, the stream goes, and with it its hold on the loop.
    boost::asio::post(work_.get_executor(), [self = std::move(self_), status] { self->handlers_.on_done(status); });
  }

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Handlers handlers_;
  grpc::ClientContext context_;
  std::shared_ptr<BidiStream> self_;
  In in_;
  Out out_;
  bool over_ = false;
};

}  // namespace glim::nodeagent
