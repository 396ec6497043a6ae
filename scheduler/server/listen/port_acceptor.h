// PortAcceptor: takes the connections of a port and hands them to its gRPC server, so many from one peer and in all.
// gRPC bounds nobody, and its own listener (1.51) ends for good when the process runs out of descriptors: a stranger
// with enough connections would make the scheduler deaf until its restart. This one pauses, and goes on.
//
// Has one thread. Stop joins it and closes the port; connections that are there are the server's.
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/server/listen/open_connections.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::server {

class PortAcceptor {
 public:
  using Server = grpc::experimental::ExternalConnectionAcceptor;

  // Listens; nobody is taken yet. `address`: host:port, all addresses of that host; port 0: the system chooses; or
  // unix:PATH. UNAVAILABLE, in words.
  static Result<std::unique_ptr<PortAcceptor>> Bind(const std::string& address, ConnectionBounds bounds);
  ~PortAcceptor() { Stop(); }

  int port() const { return port_; }  // 0 of a Unix socket
  // The server has been started.
  void Start(std::unique_ptr<Server> server);
  void Stop();  // idempotent

 private:
  explicit PortAcceptor(ConnectionBounds bounds) : open_(bounds, IsStillOpen) {}
  static bool IsStillOpen(int fd, std::uint64_t cookie) { return CookieOf(fd) == cookie; }
  Status ListenOn(const std::string& host, std::uint16_t port);
  Status ListenOnPath(const std::string& path);
  void Run();
  bool TakeAll(int listener);  // false: there is no room in the process

  OpenConnections open_;
  std::vector<UniqueFd> listening_;
  std::string path_;  // of a Unix socket, which goes at the end
  int port_ = 0;
  UniqueFd stop_;  // an eventfd
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

// So many descriptors as the system lets this process have; it may have had fewer at its start.
std::size_t RaiseDescriptorLimit();

}  // namespace glim::server
