// UnaryCall<Request, Response>: one call to the scheduler whose end comes to the agent's loop, which runs until then.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "sdk/threads/hand_over.h"

namespace glim::nodeagent {

template <typename Request, typename Response>
class UnaryCall final : public grpc::ClientUnaryReactor {
 public:
  using Bind = std::function<void(grpc::ClientContext*, const Request*, Response*, UnaryCall*)>;
  using Done = std::function<void(const grpc::Status&, Response&)>;

  // `done` is called once, on the loop, after `limit` at the latest.
  static std::shared_ptr<UnaryCall> Start(boost::asio::io_context& io, Request request, std::chrono::milliseconds limit,
                                          const Bind& bind, Done done) {
    auto call = std::shared_ptr<UnaryCall>(new UnaryCall(io, std::move(request), std::move(done)));
    call->self_ = call;
    call->context_.set_deadline(std::chrono::system_clock::now() + limit);
    bind(&call->context_, &call->request_, &call->response_, call.get());
    HandOver(call.get());
    call->StartCall();
    return call;
  }
  void Cancel() { context_.TryCancel(); }

  void OnDone(const grpc::Status& status) override {
    TakeOver(this);
    boost::asio::post(work_.get_executor(),
                      [self = std::move(self_), status] { self->done_(status, self->response_); });
  }

 private:
  UnaryCall(boost::asio::io_context& io, Request request, Done done)
      : work_(io.get_executor()), request_(std::move(request)), done_(std::move(done)) {}

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  grpc::ClientContext context_;
  const Request request_;
  Response response_;
  Done done_;
  std::shared_ptr<UnaryCall> self_;  // while gRPC has it
};

}  // namespace glim::nodeagent
