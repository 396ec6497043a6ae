// glim-replica: holds copies of other nodes' checkpoint shards in registered memory (docs/protocols/replica.md).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "sdk/checkpoint/replica/replica_service.h"
#include "sdk/checkpoint/replica/token.h"
#include "sdk/checkpoint/replica/transfer.h"
#include "sdk/io/write_file.h"

namespace {

using glim::Result;
using glim::Status;
using glim::checkpoint::ReplicaService;
using glim::checkpoint::ReplicaServiceOptions;

struct Arguments {
  ReplicaServiceOptions options;
  std::string secret_file;
  int secret_fd = -1;
  int transfer_fd = -1;
  std::string address_file;
  std::string job;
  std::int64_t lease_seconds = 3600;
};

int Fail(const Status& status) {
  const std::string field = status.field().empty() ? "" : status.field() + ": ";
  const std::string fix = status.fix().empty() ? "" : " (" + status.fix() + ")";
  std::fprintf(stderr, "glim-replica: %s%s%s\n", field.c_str(), status.message().c_str(), fix.c_str());
  return 1;
}

void Log(const std::string& line) {
  std::fprintf(stderr, "glim-replica: %s\n", line.c_str());
  std::fflush(stderr);
}

Status ReadTheSecret(Arguments& arguments) {
  Result<std::string> secret = arguments.secret_fd >= 0 ? glim::checkpoint::ReadSecret(arguments.secret_fd)
                                                        : glim::checkpoint::ReadSecret(arguments.secret_file);
  if (!secret.ok()) return secret.status();
  arguments.options.secret = *secret;
  return Status::Ok();
}

// By rename, so that whoever waits for the file reads it whole.
bool WriteAddress(const std::string& path, const std::string& address) {
  if (path.empty()) return true;
  const glim::WriteOptions options{glim::Durability::kProcess, {}, /*sole_writer=*/true};
  return glim::WriteFileAtomically(path, address + "\n", options).ok();
}

// The program that runs now, even where a newer one has taken its name: both must speak alike.
constexpr char kThisProgram[] = "/proc/self/exe";

int Serve(const Arguments& arguments) {
  // Every thread inherits the mask: the signals come to the one that waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Result<std::unique_ptr<ReplicaService>> service = ReplicaService::Create(arguments.options, Log);
  if (!service.ok()) return Fail(service.status());
  std::thread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    (*service)->Stop();
  });
  if (WriteAddress(arguments.address_file, (*service)->address())) {
    Log("holds up to " + std::to_string(arguments.options.memory_bytes) + " bytes for who comes to " +
        (*service)->address() + "; nothing yet");
    (*service)->Run();
  } else {
    std::fprintf(stderr, "glim-replica: %s cannot be written\n", arguments.address_file.c_str());
    ::kill(::getpid(), SIGTERM);
  }
  waiter.join();
  return 0;
}

void AddUcx(CLI::App& app, ReplicaServiceOptions& options) {
  app.add_option("--ucx-tls", options.ucx_tls, "UCX's transports")->capture_default_str();
  app.add_option("--ucx-net-devices", options.ucx_net_devices,
                 "UCX's devices (the interface with the address, and InfiniBand)");
  app.add_option("--service-level", options.service_level, "InfiniBand's; -1: the device's")
      ->capture_default_str()
      ->check(CLI::Range(-1, 15));
}

void AddSecret(CLI::App& app, Arguments& arguments) {
  auto* secret = app.add_option_group("secret");
  secret->add_option("--secret-file", arguments.secret_file, "of the cluster's secret, readable by its owner alone");
  secret->add_option("--secret-fd", arguments.secret_fd, "inherited descriptor to read the secret from")
      ->check(CLI::NonNegativeNumber);
  secret->require_option(1);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  ReplicaServiceOptions& options = arguments.options;
  CLI::App app("Holds copies of other nodes' checkpoint shards in memory.");
  app.require_subcommand(1);
  CLI::App* serve = app.add_subcommand("serve", "run until SIGTERM; what is held goes with it");
  AddSecret(*serve, arguments);
  serve->add_option("--memory", options.memory_bytes, "bytes for copies (units: KiB, MiB, GiB)")
      ->required()
      ->transform(CLI::AsSizeValue(false));
  serve->add_option("--listen", options.listen, "host:port; port 0: a free one")->capture_default_str();
  serve->add_option("--address-file", arguments.address_file, "written when it listens: its host:port");
  serve->add_option("--lease", arguments.lease_seconds, "seconds after which an unused job's copies go")
      ->capture_default_str()
      ->check(CLI::Range(1, 30 * 86'400));
  AddUcx(*serve, options);
  CLI::App* transfer = app.add_subcommand("transfer", "(run by serve, for one connection)")->group("");
  transfer->add_option("--fd", arguments.transfer_fd, "of the service")->required();
  AddUcx(*transfer, options);
  CLI::App* token = app.add_subcommand("token", "print a job's token");
  AddSecret(*token, arguments);
  token->add_option("--job", arguments.job, "the job's number")->required();
  CLI11_PARSE(app, argc, argv);

  if (transfer->parsed()) {
    return glim::checkpoint::RunTransfer(arguments.transfer_fd,
                                         {options.ucx_tls, options.ucx_net_devices, options.service_level});
  }
  if (const Status read = ReadTheSecret(arguments); !read.ok()) return Fail(read);
  if (token->parsed()) {
    std::printf("%s\n", glim::checkpoint::JobToken(options.secret, arguments.job).c_str());
    return 0;
  }
  options.program = kThisProgram;
  options.lease = glim::Seconds(arguments.lease_seconds);
  return Serve(arguments);
}
