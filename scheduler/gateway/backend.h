// Backend: the gateway's calls of the scheduler that it is part of. They go through the server's in-process channel to
// the very methods that gRPC clients call, with the caller's own credentials: the door, the limits, the audit trail and
// the handlers are the same for both.
//
// Any thread. Answers come from gRPC's threads. The channel's server outlives it, and Stop waits for all calls.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sdk/base/status.h"

namespace glim::gateway {

// Who asks, as the call's metadata has it.
struct Credentials {
  std::string authorization;  // "Bearer ..."; empty: none
  std::string user;           // plaintext mode: the name that is claimed
  std::string peer;           // "ipv4:10.0.0.7"
};

// A stream of the server's. The owner asks for each message; `told` is called once for each, and at last with null and
// how it ended.
class ReadStream {
 public:
  using Told = std::function<void(const google::protobuf::Message* message, const Status& end)>;
  virtual ~ReadStream() = default;
  virtual void Next() = 0;    // the message that was told before is done with; nothing after Cancel
  virtual void Cancel() = 0;  // the end is told, also where Next is owed; idempotent
};

class Backend {
 public:
  using Done = std::function<void(const Status& status, std::unique_ptr<google::protobuf::Message> answer)>;

  // `forwarded` makes the metadata that says whose address a call is for.
  struct Forward {
    std::string name;
    std::function<std::string(const std::string& peer)> text;
  };
  Backend(std::shared_ptr<grpc::Channel> channel, Forward forward)
      : stub_(std::move(channel)), forward_(std::move(forward)) {}
  virtual ~Backend() { Stop(); }

  // `method` is "ClientApi/ListJobs", `answer` an empty message of its type.
  virtual void Ask(const std::string& method, const Credentials& who, const google::protobuf::Message& request,
                   std::unique_ptr<google::protobuf::Message> answer, std::chrono::milliseconds patience, Done done);
  // Null: Stop has been called.
  virtual std::shared_ptr<ReadStream> Open(const std::string& method, const Credentials& who,
                                           const google::protobuf::Message& request,
                                           std::unique_ptr<google::protobuf::Message> message, ReadStream::Told told);
  // Cancels what goes on and waits for it; idempotent.
  void Stop();

 private:
  class UnaryCall;
  class StreamCall;
  void SetCredentials(const Credentials& who, grpc::ClientContext* context) const;
  bool Begin(const void* call, std::function<void()> cancel);
  void End(const void* call);

  grpc::GenericStub stub_;
  const Forward forward_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  std::map<const void*, std::function<void()>> calls_;  // each with what cancels it
  bool stopped_ = false;
};

}  // namespace glim::gateway
