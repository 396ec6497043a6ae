// A scheduler as it is served, with TLS, tokens and certificates, and calls to it, for the fuzz target `handlers`. Each
// Cluster has its own store, a copy of the first state (handlers_first_state.h). One thread.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/server/server.h"
#include "tests/fuzz/handlers_call.h"

namespace glim::fuzz {

// By token, but for the nodes, who come by certificate on the agents' port. "job" is the token of kim's job 1, "login"
// one that the login host made for ora, "stranger" none of this cluster's.
inline constexpr auto kCallers =
    std::to_array<std::string_view>({"nobody", "stranger", "vera", "kim", "kim-read", "kim-submit", "lee", "tess",
                                     "ora", "ada", "job", "login", "n1", "host"});

bool IsNode(std::size_t caller);
// The id of the caller's token; empty: it has none.
std::string TokenIdOf(std::size_t caller);

// Names of what is there, and values that handlers know.
const std::vector<std::string>& Words();

struct Answer {
  grpc::Status status;
  std::string bytes;     // of all messages
  bool cut_off = false;  // a stream that does not end by itself; the status is this caller's own doing
};

class Cluster {
 public:
  Cluster();
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Answer Call(const FuzzCall& call);
  server::SnapshotPtr snapshot() const { return server_->snapshot(); }
  // Every call so far is a file in it: the fuzz target, given these in their order, makes the same calls again.
  const std::filesystem::path& calls() const { return calls_; }
  void Keep(std::string_view input);

  // What the calls have made of the store opens once more, and its audit trail holds. Ends with a fresh server.
  void CheckStore();

 private:
  void Start();
  Answer CallOnce(const FuzzCall& call, grpc::ClientContext* context);
  Answer CallStream(const FuzzCall& call, grpc::ClientContext* context);
  bool Came(grpc::ClientContext* context, std::chrono::milliseconds patience, bool* cut_off);

  std::filesystem::path folder_;
  std::filesystem::path calls_;
  std::size_t kept_ = 0;
  std::unique_ptr<server::Server> server_;
  std::shared_ptr<grpc::Channel> users_;
  std::array<std::shared_ptr<grpc::Channel>, 2> nodes_;
  grpc::CompletionQueue queue_;
};

}  // namespace glim::fuzz
