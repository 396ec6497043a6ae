#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sdk/hfreduce/environment/environment.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/transport/socket.h"

namespace glim::hfreduce {
namespace {

// The address that this machine has towards `host`. A datagram socket's connect sends nothing: it only picks the route.
Result<std::string> OwnAddressTowards(const std::string& host, std::uint16_t port) {
  const Result<SocketAddress> to = ResolveAddress(host, port);
  if (!to.ok()) return to.status();
  const auto no_route = [&] {
    return Status(StatusCode::kUnavailable, "no route to " + to->ToString() + ": " + ErrnoText(errno));
  };
  const UniqueFd socket(::socket(to->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return no_route();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to->storage), to->length) != 0) return no_route();
  const Result<SocketAddress> own = LocalAddress(socket.get());
  if (!own.ok()) return own.status();
  char text[NI_MAXHOST];
  const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&own->storage), own->length, text, sizeof text,
                                  nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return Status(StatusCode::kUnavailable, std::string("no address: ") + ::gai_strerror(error));
  return std::string(text);
}

}  // namespace

Result<std::unique_ptr<Communicator>> MakeCommunicator(const Environment& environment) {
  if (Status status = environment.topology.Check(); !status.ok()) return status;
  CommunicatorOptions options = environment.options;
  if (options.listen.empty()) {
    Result<std::string> own = OwnAddressTowards(environment.store_host, environment.store_port);
    if (!own.ok()) return own.status();
    options.listen = std::move(*own);
  }
  Result<std::unique_ptr<TcpStore>> store = TcpStore::Create({.host = environment.store_host,
                                                              .port = environment.store_port,
                                                              .serve = environment.rank == 0,
                                                              .timeout = options.timeout});
  if (!store.ok()) return store.status();
  Result<std::unique_ptr<Communicator>> made =
      Communicator::Create(environment.topology, environment.rank, **store, options);
  if (!made.ok()) return made;
  // Nobody needs the store any more; and nobody may look for the next communicator's before this one is gone.
  if (Status status = (*made)->Barrier().Wait(); !status.ok()) return status;
  store->reset();
  if (Status status = (*made)->Barrier().Wait(); !status.ok()) return status;
  return made;
}

}  // namespace glim::hfreduce
