// glim-scheduler: wiring only. Exit codes: 0 stopped on request, 1 could not start, 2 usage, 3 had to end (the store
// refused a commit, or another leader took over): the supervisor starts it again, and it loads what was durable.
// `glim-scheduler break-glass` starts none (break_glass.h), nor do `glim-scheduler settings`
// (settings_text.h) and `accept-clock` (accept_clock.h).
#include <absl/synchronization/mutex.h>
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "scheduler/server/accept_clock.h"
#include "scheduler/server/command_line.h"
#include "scheduler/server/freed_memory.h"
#include "scheduler/server/server.h"
#include "scheduler/server/settings_text.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"

namespace {

using glim::Status;

int SayError(const Status& status) {
  fmt::print(stderr, "error: {}{}\n", status.message(), status.reason().empty() ? "" : "  [" + status.reason() + "]");
  if (!status.fix().empty()) fmt::print(stderr, "  fix: {}\n", status.fix());
  return 1;
}

// Whole or not at all: whoever waits for the file must not read half a number.
bool WritePortFile(const std::string& path, int port) {
  if (path.empty()) return true;
  const glim::WriteOptions options{glim::Durability::kProcess, {}, /*sole_writer=*/true};
  return glim::WriteFileAtomically(path, std::to_string(port) + "\n", options).ok();
}

int Serve(const glim::server::Config& config) {
  boost::asio::io_context io{1};
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  int exit_code = 0;
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    glim::LogInfo("stopping signal={}", signal);
    io.stop();
  });
  auto server = glim::server::Server::Start(config, [&](const Status& status) {
    boost::asio::post(io, [&, status] {
      fmt::print(stderr, "error: the scheduler cannot go on: {}\n", status.message());
      exit_code = 3;
      io.stop();
    });
  });
  if (!server.ok()) return SayError(server.status());
  // Whoever waits for the port then finds the agents' one, too.
  const std::pair<const std::string&, int> ports[] = {{config.agents_port_file, (*server)->agents_port()},
                                                      {config.http_port_file, (*server)->http_port()},
                                                      {config.port_file, (*server)->port()}};
  for (const auto& [path, port] : ports) {
    if (WritePortFile(path, port)) continue;
    return SayError(Status(glim::StatusCode::kUnavailable, "cannot write " + path).WithReason("PORT_FILE"));
  }
  const glim::server::FreedMemory freed_memory(&io);
  io.run();
  (*server)->Stop();
  glim::LogInfo("stopped exit={}", exit_code);
  return exit_code;
}

int BreakGlass(const glim::server::CommandLine& line) {
  const auto token = glim::server::RunBreakGlass(line.config, *line.break_glass);
  if (!token.ok()) return SayError(token.status());
  if (line.break_glass->new_keys) {
    fmt::print(stderr, "all keys are forgotten: the next start of glim-scheduler is a first one\n");
    return 0;
  }
  if (line.token_file.empty()) {
    fmt::print("{}\n", *token);
    return 0;
  }
  const Status written = glim::WriteFileAtomically(line.token_file, *token + "\n", glim::Durability::kMachine);
  return written.ok() ? 0 : SayError(written);
}

int SayAcceptClock(const glim::server::Config& config) {
  const auto done = glim::server::RunAcceptClock(config);
  if (!done.ok()) return SayError(done.status());
  fmt::print("{}\n", *done);
  return 0;
}

// The settings first: whoever asks may stop waiting for the database.
int ShowSettings(const glim::server::CommandLine& line) {
  fmt::print("{}", SettingsText(line.config));
  std::fflush(stdout);
  if (line.ask_store) fmt::print("{}", StoreAnswerText(line.config));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  glim::server::BoundAllocator();
  ::setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // else each stranger's handshake is a line, in no form of ours
  // Debian builds Abseil with its search for deadlocks: every lock that gRPC takes is an entry in one graph, under one
  // spin lock. That was a sixth of what an agent's connection costs.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  auto line = glim::server::ParseCommandLine(argc, argv);
  if (!line.ok()) {
    SayError(line.status());
    return 2;
  }
  if (line->exit_code) return *line->exit_code;
  if (line->settings) return ShowSettings(*line);
  if (line->accept_clock) return SayAcceptClock(line->config);
  std::signal(SIGPIPE, SIG_IGN);  // a log reader that went must not end the scheduler
  glim::StartLog("time=%Y-%m-%dT%H:%M:%S.%f%z level=%l %v", line->config.log_level);
  return line->break_glass ? BreakGlass(*line) : Serve(line->config);
}
