// A communicator of real processes on this machine, for tests.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/transport/ucx_transport.h"
#include "sdk/net/rdma.h"

namespace glim::hfreduce::testing {

// Serves the store; every rank is a process that makes its communicator and runs `body`, which returns what went wrong.
class Ranks {
 public:
  using Body = std::function<std::string(Communicator&)>;
  // The store is made when all have been forked: a child of a process with threads may inherit a lock that one of them
  // held.
  Ranks(const Topology& topology, const CommunicatorOptions& options, const Body& body)
      : Ranks(
            topology, [&](std::uint32_t) { return options; }, body) {}
  using OptionsOf = std::function<CommunicatorOptions(std::uint32_t rank)>;
  Ranks(const Topology& topology, const OptionsOf& options, const Body& body)
      : forked_(topology.ranks(),
                [&, port = port_.read_end()](std::uint32_t rank) -> std::string {
                  TcpStoreOptions where;
                  if (::read(port, &where.port, sizeof(where.port)) != sizeof(where.port)) return "no store";
                  const auto store = TcpStore::Create(where).value();
                  const auto communicator = Communicator::Create(topology, rank, *store, options(rank));
                  if (!communicator.ok()) return "create: " + communicator.status().message();
                  return body(**communicator);
                }),
        store_(TcpStore::Create({.serve = true}).value()) {
    for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) port_.Write(store_->port());
  }

  Forked& forked() { return forked_; }
  std::string WaitAll() { return forked_.WaitAll(); }

 private:
  class Pipe {
   public:
    Pipe() { GLIM_CHECK(::pipe2(ends_, O_CLOEXEC) == 0, "no pipe"); }
    ~Pipe() {
      ::close(ends_[0]);
      ::close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    int read_end() const { return ends_[0]; }
    void Write(std::uint16_t port) {
      GLIM_CHECK(::write(ends_[1], &port, sizeof(port)) == sizeof(port), "a port fits a pipe");
    }

   private:
    int ends_[2];
  };

  Pipe port_;
  Forked forked_;
  std::unique_ptr<TcpStore> store_;
};

// Transports between nodes that this machine has.
inline std::vector<std::string> TransportsHere() {
  std::vector<std::string> names{"tcp", "ucx"};
  if (UcxIsBuilt() && !net::UsablePorts(net::RdmaPorts()).empty()) names.push_back("verbs");
  return names;
}

// A name for the segments that no other test process has.
inline CommunicatorOptions TestCommunicator(const std::string& transport) {
  CommunicatorOptions options;
  options.id = "test-" + std::to_string(::getpid());
  options.transport = transport;
  // Over verbs, UCX makes large queues for each node, which takes long on an emulated machine.
  options.timeout = transport == "verbs" ? Seconds(100) : LongWaitDuration();
  return options;
}

}  // namespace glim::hfreduce::testing
