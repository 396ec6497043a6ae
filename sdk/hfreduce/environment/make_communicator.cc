#include "sdk/hfreduce/environment/make_communicator.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/net/socket.h"
#include "sdk/task_environment/variables.h"

namespace glim::hfreduce {
namespace {

// One that is named and cannot be read is no reason to go without.
Status NoSecret(const Status& why) {
  const std::string name = NameOf(TaskVariable::kAttemptSecretFile);
  return Status(why.code(), name + ": " + why.message())
      .WithField(name)
      .WithFix(why.fix().empty() ? "leave it as Glim sets it" : why.fix());
}

}  // namespace

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
  if (!environment.secret_file.empty()) {
    Result<Secret> secret = Secret::Read(environment.secret_file, environment.attempt);
    if (!secret.ok()) return NoSecret(secret.status());
    options.secret = std::move(*secret);
  }
  Result<std::unique_ptr<TcpStore>> store = TcpStore::Create({.host = environment.store_host,
                                                              .port = environment.store_port,
                                                              .serve = environment.rank == 0,
                                                              .timeout = options.timeout,
                                                              .secret = options.secret});
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

std::string SecretFileOfProcess() {
  const char* file = std::getenv(NameOf(TaskVariable::kAttemptSecretFile));
  return file == nullptr ? "" : file;
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
