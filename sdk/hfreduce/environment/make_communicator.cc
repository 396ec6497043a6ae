#include "sdk/hfreduce/environment/make_communicator.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {

Result<std::unique_ptr<Communicator>> MakeCommunicator(const Environment& environment) {
  if (Status status = environment.topology.Check(); !status.ok()) return status;
  CommunicatorOptions options = environment.options;
  if (options.listen.empty()) {
    const Result<net::SocketAddress> store = net::ResolveAddress(environment.store_host, environment.store_port);
    if (!store.ok()) return store.status();
    const Result<net::SocketAddress> own = net::OwnAddressTowards(*store);
    if (!own.ok()) return own.status();
    options.listen = own->Host();
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

Result<std::unique_ptr<Communicator>> CommunicatorFromEnvironment(const CommunicatorOptions& options) {
  const VariableLookup own = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const Result<Environment> environment = EnvironmentOf(own, options);
  if (!environment.ok()) return environment.status();
  return MakeCommunicator(*environment);
}

}  // namespace glim::hfreduce
