// glim-replica: holds copies of other nodes' checkpoint shards in registered memory (docs/protocols/replica.md).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "sdk/base/host_port.h"
#include "sdk/checkpoint/replica/confinement.h"
#include "sdk/checkpoint/replica/node_files.h"
#include "sdk/checkpoint/replica/replica_service.h"
#include "sdk/checkpoint/replica/service_address.h"
#include "sdk/checkpoint/replica/transfer.h"
#include "sdk/io/unique_fd.h"

namespace {

using glim::Result;
using glim::Status;
using glim::checkpoint::ReplicaService;
using glim::checkpoint::ReplicaServiceOptions;

struct Arguments {
  ReplicaServiceOptions options;
  int transfer_fd = -1;
  std::string keys_file;
  std::string state_file;
  std::string key_file;
  std::int64_t lease_seconds = 3600;
};

constexpr int kBadOptions = 2;  // as the other daemons say it: no other start mends that

int Fail(const Status& status) {
  const std::string field = status.field().empty() ? "" : status.field() + ": ";
  const std::string fix = status.fix().empty() ? "" : " (" + status.fix() + ")";
  std::fprintf(stderr, "glim-replica: %s%s%s\n", field.c_str(), status.message().c_str(), fix.c_str());
  return status.code() == glim::StatusCode::kInvalidArgument ? kBadOptions : 1;
}

void Log(const std::string& line) {
  std::fprintf(stderr, "glim-replica: %s\n", line.c_str());
  std::fflush(stderr);
}

// The program that runs now, even where a newer one has taken its name: both must speak alike.
constexpr char kThisProgram[] = "/proc/self/exe";

int Serve(Arguments arguments) {
  if (const Status confined = glim::checkpoint::ConfineService(); !confined.ok()) return Fail(confined);
  // Every thread inherits the mask: the signals come to the one that waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  glim::checkpoint::IssuersFile issuers(arguments.keys_file, Log);
  arguments.options.issuers = [&issuers] { return issuers.Now(); };
  if (!arguments.key_file.empty()) {
    const Result<glim::Ed25519Seed> seed = glim::checkpoint::ReadOrMakeSeed(arguments.key_file);
    if (!seed.ok()) return Fail(seed.status());
    arguments.options.seed = *seed;
  }
  Result<std::unique_ptr<ReplicaService>> service = ReplicaService::Create(arguments.options, Log);
  if (!service.ok()) return Fail(service.status());
  glim::UniqueFd published;  // held to the end: the file counts as long as it is
  if (!arguments.state_file.empty()) {
    Result<glim::UniqueFd> held = glim::checkpoint::PublishState(arguments.state_file, (*service)->state());
    if (!held.ok()) return Fail(held.status());
    published = std::move(held).value();
  }
  std::thread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    (*service)->Stop();
  });
  Log("holds up to " + std::to_string(arguments.options.memory_bytes) + " bytes for who comes to " +
      glim::checkpoint::PeerText({(*service)->state().key, (*service)->state().address}) + "; nothing yet");
  (*service)->Run();
  waiter.join();
  if (!arguments.state_file.empty()) ::unlink(arguments.state_file.c_str());
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

}  // namespace

// A sanitized build looks for leaks at the end by tracing itself, which a confined process cannot.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's own name
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

int main(int argc, char** argv) {
  Arguments arguments;
  ReplicaServiceOptions& options = arguments.options;
  CLI::App app("Holds copies of other nodes' checkpoint shards in memory.");
  app.require_subcommand(1);
  CLI::App* serve = app.add_subcommand("serve", "run until SIGTERM; what is held goes with it");
  serve->add_option("--keys", arguments.keys_file, "written by the node's agent: whose tokens count")->required();
  serve->add_option("--memory", options.memory_bytes, "bytes for copies (units: KiB, MiB, GiB)")
      ->required()
      ->transform(CLI::AsSizeValue(false));
  serve->add_option("--listen", options.listen, "host:port; port 0: a free one")->capture_default_str();
  serve->add_option("--state-file", arguments.state_file,
                    "written when it listens, for the node's agent: where it is, "
                    "and by which key it is known");
  serve->add_option("--key-file", arguments.key_file,
                    "of its own key, made where there is none (each start has another one)");
  serve->add_option("--lease", arguments.lease_seconds, "seconds after which an unused job's copies go")
      ->capture_default_str()
      ->check(CLI::Range(1, 30 * 86'400));
  AddUcx(*serve, options);
  CLI::App* transfer = app.add_subcommand("transfer", "(run by serve, for one connection)")->group("");
  transfer->add_option("--fd", arguments.transfer_fd, "of the service")->required();
  AddUcx(*transfer, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadOptions;
  }

  if (transfer->parsed()) {
    if (const Status confined = glim::checkpoint::ConfineService(); !confined.ok()) return Fail(confined);
    return glim::checkpoint::RunTransfer(arguments.transfer_fd,
                                         {options.ucx_tls, options.ucx_net_devices, options.service_level});
  }
  if (const auto listen = glim::ParseHostPort("--listen", options.listen, glim::PortZero::kTaken); !listen.ok()) {
    return Fail(listen.status());
  }
  options.program = kThisProgram;
  options.lease = glim::Seconds(arguments.lease_seconds);
  return Serve(std::move(arguments));
}
