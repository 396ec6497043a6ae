// BegunCalls: how many calls of each connection of a port are not over, from their first byte to their last. What goes
// beyond a bound is refused before anything of it is kept, whatever the client does.
//
// gRPC 1.51 bounds calls for those clients alone that acknowledge its settings, and tells a service of a call when its
// whole request is there. Who begins calls and does not finish them, or does not take the answers, held memory without
// end. gRPC asks the credentials of a port about each call when its headers are there: that is where they are counted.
// They are counted down when the call has gone; of those that end before their request is there nobody hears, and they
// count until the connection ends. So a stranger's that goes on at the bound is ended, and at once one that has shown
// who it is, whose bound no client reaches.
//
// Any thread. The counts lie in gRPC's own context of the connection, and go with it. Outlives the server.
#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/server/listen/open_connections.h"

namespace glim::server {

class BegunCalls {
 public:
  // Of one connection. An honest client has 1000 at most, and is told that a call is over before it is forgotten here.
  static constexpr int kOfStrangers = 16;
  static constexpr int kOfKnown = 2'000;
  static constexpr int kRefusedMax = 16;  // of a stranger's connection, before it is ended

  struct Rules {
    bool any_call_proves = false;  // the port lets in nobody who has not shown who it is
    // Whether the metadata `authorization` has a token that counts; of who is a stranger until now.
    std::function<bool(std::string_view authorization)> counts;
  };
  BegunCalls(OpenConnections* connections, Rules rules) : connections_(connections), rules_(std::move(rules)) {}

  grpc_auth_metadata_processor Processor();
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptors();

  // The call's connection is this user's: a stranger's no more.
  void Proven(const grpc::ServerContextBase& context, const std::string& user);

  struct Connection {
    std::atomic<int> calls = 0;            // that are not over
    std::atomic<std::uint64_t> begun = 0;  // ever
    std::atomic<int> refused = 0;
    std::atomic<std::uint64_t> number = 0;  // in OpenConnections, once it has shown who it is
  };

 private:
  class OneCall;
  class Factory;
  static void Process(void* self, grpc_auth_context* context, const grpc_metadata* metadata, std::size_t count,
                      grpc_process_auth_metadata_done_cb done, void* user_data);
  Connection* ConnectionOf(grpc_auth_context* context);
  bool MayBegin(Connection* connection, const grpc_metadata* metadata, std::size_t count);
  // `offender`: what a connection has begun that goes on.
  void Refused(std::uint64_t number, std::optional<std::uint64_t> offender);

  OpenConnections* const connections_;
  const Rules rules_;
  std::mutex mutex_;          // of what is made in contexts
  std::mutex refused_mutex_;  // guards what follows
  TimePoint look_at_;         // not before then
  TimePoint told_at_;
  std::size_t ended_ = 0;  // since then
};

}  // namespace glim::server
