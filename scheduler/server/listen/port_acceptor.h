// PortAcceptor: takes the connections of a port and hands them to its gRPC server, so many from one peer and in all.
// gRPC bounds nobody, and its own listener (1.51) ends for good when the process runs out of descriptors: a stranger
// with enough connections would make the scheduler deaf until its restart. This one pauses, and goes on.
//
// Has one thread. Stop joins it and closes the port; connections that are there are the server's.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/server/listen/newcomers.h"
#include "scheduler/server/listen/open_connections.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"

namespace glim::server {

class PortAcceptor {
 public:
  using Server = grpc::experimental::ExternalConnectionAcceptor;

  // Listens; nobody is taken yet. `address`: host:port, all addresses of that host; port 0: the system chooses; or
  // unix:PATH. UNAVAILABLE, in words.
  // `connections` outlive it. `proven`: calls will tell who is no stranger; else nobody is one.
  static Result<std::unique_ptr<PortAcceptor>> Bind(const std::string& address, OpenConnections* connections,
                                                    bool proven);
  ~PortAcceptor() { Stop(); }

  int port() const { return port_; }  // 0 of a Unix socket
  // The server has been started.
  void Start(std::unique_ptr<Server> server);
  void Stop();  // idempotent

 private:
  PortAcceptor(OpenConnections* connections, bool proven) : open_(connections), proven_(proven) {}
  Status ListenOn(const std::string& host, std::uint16_t port);
  Status ListenOnPath(const std::string& path);
  void Run();
  int LookAtStrangers();
  enum class Room : std::uint8_t { kSome, kLater, kNone };  // kNone: in the process
  Room TakeAll(int listener);
  void GiveTurns();

  OpenConnections* const open_;
  const bool proven_;
  std::vector<UniqueFd> listening_;
  std::string path_;  // of a Unix socket, which goes at the end
  int port_ = 0;
  UniqueFd stop_;  // an eventfd
  TimePoint look_at_;
  Newcomers waiting_;  // the thread's
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

// So many descriptors as the system lets this process have; it may have had fewer at its start.
std::size_t RaiseDescriptorLimit();

}  // namespace glim::server
