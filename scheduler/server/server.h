// Server: the scheduler as one object: store, strand, agents' strand, gRPC services, metrics. main.cc and the tests
// start the same one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "scheduler/server/config.h"
#include "scheduler/server/loop/snapshot.h"

namespace glim::server {

class Server {
 public:
  // Called once, from another thread, when the scheduler cannot go on (a commit failed, another leader came): the
  // owner stops the server and ends the process.
  using OnFatal = std::function<void(const Status&)>;

  // Opens the store, takes the leadership, and serves. On success calls are answered when this returns.
  static Result<std::unique_ptr<Server>> Start(const Config& config, OnFatal on_fatal);
  ~Server();

  // Ends the streams, finishes what was accepted, closes the store. Idempotent; not from on_fatal's thread.
  void Stop();

  int port() const;
  int agents_port() const;
  int metrics_port() const;  // 0: not served
  int http_port() const;     // likewise
  const std::string& cluster_id() const;
  SnapshotPtr snapshot() const;

 private:
  Server();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace glim::server
