// glim-agent: the daemon of one node. It goes on SIGTERM and SIGINT; the tasks stay, and its next life adopts them.
// `glim-agent enrol` makes the machine a node and ends; with --login-socket it serves users' logins, and no tasks.
// `glim-agent settings` shows what its options come to, and ends.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "nodeagent/agent.h"
#include "nodeagent/identity/certificate_renewal.h"
#include "nodeagent/identity/enrol.h"
#include "nodeagent/identity/identity_folder.h"
#include "nodeagent/identity/login_socket.h"
#include "nodeagent/identity/scheduler_link.h"
#include "nodeagent/options/command_line.h"
#include "nodeagent/options/identity_options.h"
#include "nodeagent/options/settings_text.h"
#include "nodeagent/os/clock_watch.h"
#include "nodeagent/os/process_lock.h"
#include "nodeagent/services/hardware_watch.h"
#include "nodeagent/sync/desired_store.h"
#include "nodeagent/sync/message_sizes.h"
#include "sdk/io/folders.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

// Held as long as the agent lives, whatever way it ends; no process that it started has it.
Result<ProcessLock> LockStateFolder(const std::string& state_dir) {
  auto lock = ProcessLock::Take(state_dir + "/lock");
  if (lock.ok() || lock.status().code() != StatusCode::kAlreadyExists) return lock;
  return Status(StatusCode::kFailedPrecondition, "another glim-agent uses " + state_dir)
      .WithField("--state-dir")
      .WithFix("stop it, or give this one a --state-dir of its own");
}

// As a supervisor would after its end, but in place: the process id stays, and the tasks anyway. Whoever
// is connected sees the connection end, as when the agent is killed. Returns only if that cannot be.
void StartAnew(char** argv) {
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // those too that a library opened without it
  ::execv("/proc/self/exe", argv);
  LogError("event=not_started_anew error={}", Quoted(std::strerror(errno)));
}

// What is wrong in the options or in their file: no start mends that, so systemd tries no other one (deploy/systemd).
constexpr int kUsage = 2;
constexpr int kFailed = 1;

int Fail(const Status& status, int code = kFailed) {
  std::fprintf(stderr, "glim-agent: %s%s%s\n", status.message().c_str(), status.fix().empty() ? "" : ": ",
               status.fix().c_str());
  return code;
}

// By the certificate it is known who this node is: what was left out is filled in.
Result<std::optional<NodeCredentials>> TakeIdentity(AgentOptions* options) {
  if (options->insecure_without_identity) return std::optional<NodeCredentials>();
  if (options->state_dir.empty()) {
    return InvalidArgument("--state-dir", "--state-dir is missing", "name a folder for the agent's own use");
  }
  const IdentityFolder folder(options->state_dir);
  auto credentials = folder.Read();
  if (!credentials.ok()) return credentials.status();
  const std::string& node = credentials->certificate.node();
  if (options->node_name.empty()) options->node_name = node;
  if (options->node_name != node) {
    return InvalidArgument("--node-name", "this node's certificate is of " + node + ", not of " + options->node_name,
                           "leave --node-name out, or invite and enrol it as " + options->node_name);
  }
  if (options->cluster_id.empty()) options->cluster_id = credentials->certificate.cluster();
  if (options->scheduler.empty()) options->scheduler = folder.Scheduler();
  return std::optional(std::move(credentials).value());
}

// The token alone: up to the line's end, without blanks.
std::string ReadToken() {
  std::string token;
  for (int c = std::getchar(); c != EOF && c != '\n' && token.size() < 1024; c = std::getchar()) {
    if (c > ' ') token += static_cast<char>(c);
  }
  return token;
}

int RunEnrol(EnrolOrder order) {
  std::error_code error;
  if (order.state_dir.empty()) {
    return Fail(InvalidArgument("--state-dir", "--state-dir is missing", "name the agent's own folder"), kUsage);
  }
  if (Status status = MakePrivateFolder(std::filesystem::absolute(order.state_dir, error).string()); !status.ok()) {
    return Fail(status);
  }
  order.state_dir = std::filesystem::canonical(order.state_dir, error).string();
  if (order.machine_id.empty()) order.machine_id = MachineIdOf(order.state_dir);
  const Result<Enrolled> enrolled = Enrol(order, ReadToken());
  if (!enrolled.ok()) {
    return Fail(enrolled.status(), enrolled.status().code() == StatusCode::kInvalidArgument ? kUsage : kFailed);
  }
  std::printf("enrolled as %s %s of cluster %s; its agent finds the scheduler at %s\n",
              enrolled->login ? "login host" : "node", enrolled->node.c_str(), enrolled->cluster_id.c_str(),
              enrolled->listen_agents.c_str());
  return 0;
}

// Ends on SIGTERM and SIGINT, when `stop` has let everything end.
class Signals {
 public:
  Signals(boost::asio::io_context& io, const char* note, std::function<void()> stop) : signals_(io, SIGTERM, SIGINT) {
    signals_.async_wait([note, stop = std::move(stop)](boost::system::error_code error, int signal) {
      if (error) return;
      LogInfo("event=stopping signal={} note=\"{}\"", signal, note);
      stop();
    });
  }

 private:
  boost::asio::signal_set signals_;
};

// A host where users log in: no tasks, no Hello. Its certificate is renewed four times a day, for nobody tells it of
// another authority.
int RunLogins(const AgentOptions& options, const NodeCredentials& credentials) {
  boost::asio::io_context io(1);
  SchedulerLink link(options.scheduler, credentials, kDesiredMessageBytesMax);
  std::vector<pki::Certificate> authorities = credentials.authorities;
  CertificateRenewal::Times times;
  times.at_most = Hours(6);
  CertificateRenewal renewal(io, IdentityFolder(options.state_dir), credentials, times, std::random_device()(),
                             {[&link] { return link.stub(); }, WallTime,
                              [&](const NodeCredentials& next) {
                                authorities = next.authorities;
                                link.Use(next);
                              }});
  auto socket = LoginSocket::Open(io, options.login_socket,
                                  {[&link] { return link.stub(); }, [&] { return pki::PemOf(authorities); }});
  if (!socket.ok()) return Fail(socket.status(), kUsage);
  renewal.Start();
  const Signals signals(io, "nobody logs in here meanwhile", [&] {
    (*socket)->Stop();
    renewal.Stop();
  });
  LogInfo("event=started login_socket={} host={} scheduler={}", Quoted(options.login_socket),
          credentials.certificate.node(), options.scheduler);
  io.run();
  return 0;
}

int RunAgent(const AgentOptions& options, Inventory found, const std::optional<NodeCredentials>& credentials,
             char** argv) {
  boost::asio::io_context io(1);
  SchedulerLink link(options.scheduler, credentials, kDesiredMessageBytesMax);
  Agent agent(
      io, options, std::move(found), [&link] { return link.stub(); }, std::random_device()());
  std::optional<CertificateRenewal> renewal;
  if (credentials) {
    renewal.emplace(io, IdentityFolder(options.state_dir), *credentials, CertificateRenewal::Times(),
                    std::random_device()(),
                    CertificateRenewal::Hooks{[&link] { return link.stub(); }, WallTime,
                                              [&link, &agent](const NodeCredentials& next) {
                                                link.Use(next);
                                                agent.Reconnect();
                                              }});
    agent.set_on_welcome([&](const v1::Welcome& welcome) { renewal->OnAuthorities(welcome.authorities()); });
  }
  ClockWatch clock(io, [argv](Duration by) {
    LogWarning("event=clock_set_back by_ms={} note=\"the agent starts anew: what waits would wait for as much longer\"",
               by.ms);
    StartAnew(argv);
  });
  clock.Start();
  // Before the start: whoever hears the agent's first word may already stop it.
  const Signals signals(io, "tasks stay", [&] {
    clock.Stop();
    if (renewal) renewal->Stop();
    agent.Stop();
  });
  if (Status status = agent.Start(); !status.ok()) return Fail(status);
  if (renewal) renewal->Start();
  LogInfo(
      "event=started node={} cluster={} scheduler={} identity={} runtime={} state_dir={} groups={} gpus={} "
      "simulated={}",
      options.node_name, options.cluster_id, options.scheduler, credentials.has_value(), options.runtime,
      Quoted(options.state_dir), Quoted(agent.task_groups()), options.gpus, options.simulated_gpus);
  io.run();
  return 0;
}

int Main(int argc, char** argv) {
  ::setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // why there is no connection the agent says itself
  Result<CommandLine> line = ParseCommandLine(argc, argv);
  if (!line.ok()) return Fail(line.status(), kUsage);
  if (line->exit_code) return *line->exit_code;
  AgentOptions& options = line->options;
  if (line->settings) return std::fputs(SettingsText(options).c_str(), stdout) < 0 ? kFailed : 0;
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  StartLog("ts=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v", options.log_level);
  const auto refuse = [&](const Status& status) {
    return Fail(line->places.Placed(status), status.code() == StatusCode::kInvalidArgument ? kUsage : kFailed);
  };
  if (line->enrol) return RunEnrol(*line->enrol);
  auto credentials = TakeIdentity(&options);
  if (!credentials.ok()) return refuse(credentials.status());
  if (!options.login_socket.empty()) {
    if (Status status = CompleteLoginOptions(&options); !status.ok()) return refuse(status);
    const Result<ProcessLock> lock = LockStateFolder(options.state_dir);
    return lock.ok() ? RunLogins(options, **credentials) : Fail(lock.status());
  }
  Status complete = CompleteOptions(&options);
  if (complete.ok()) complete = CheckIdentityOptions(options);
  if (!complete.ok()) return refuse(complete);
  Result<Inventory> found = LookAtHardware(&options);
  if (!found.ok()) return Fail(found.status());  // a driver may come later than the agent
  Result<ProcessLock> lock = LockStateFolder(options.state_dir);
  if (!lock.ok()) return Fail(lock.status());
  Result<std::string> cluster = DesiredStore(options.state_dir).Claim(options.cluster_id);
  if (!cluster.ok()) return Fail(cluster.status(), cluster.status().field() == "--cluster-id" ? kUsage : kFailed);
  options.cluster_id = *cluster;
  return RunAgent(options, std::move(found).value(), *credentials, argv);
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) {
  try {
    return glim::nodeagent::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glim-agent: %s\n", error.what());
    return 1;
  }
}
