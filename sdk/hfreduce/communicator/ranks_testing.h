// A communicator of real processes on this machine, for tests.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "sdk/hfreduce/communicator.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"

namespace glim::hfreduce::testing {

// Serves the store; every rank is a process that makes its communicator and runs `body`, which returns what went wrong.
class Ranks {
 public:
  using Body = std::function<std::string(Communicator&)>;
  Ranks(const Topology& topology, const CommunicatorOptions& options, const Body& body)
      : store_(TcpStore::Create({.serve = true}).value()),
        forked_(topology.ranks(), [&](std::uint32_t rank) -> std::string {
          const auto store = TcpStore::Create({.port = store_->port()}).value();
          const auto communicator = Communicator::Create(topology, rank, *store, options);
          if (!communicator.ok()) return "create: " + communicator.status().message();
          return body(**communicator);
        }) {}

  Forked& forked() { return forked_; }
  std::string WaitAll() { return forked_.WaitAll(); }

 private:
  std::unique_ptr<TcpStore> store_;
  Forked forked_;
};

// A name for the segments that no other test process has.
inline CommunicatorOptions TestCommunicator(const std::string& transport) {
  CommunicatorOptions options;
  options.id = "test-" + std::to_string(::getpid());
  options.transport = transport;
  options.timeout = Seconds(20);
  return options;
}

}  // namespace glim::hfreduce::testing
