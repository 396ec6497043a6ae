#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/doctor/client_checks.h"
#include "cli/rpc/client.h"
#include "cli/text/text.h"
#include "sdk/net/address.h"
#include "sdk/pki/tls_probe.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kConnectMax = Milliseconds(1200);
constexpr Duration kProbeMax = Milliseconds(1200);
constexpr Duration kCallMax = Milliseconds(1200);

TimePoint ClockNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

// Every address once, without its port.
std::string HostsOf(const std::vector<net::SocketAddress>& addresses) {
  std::set<std::string> hosts;
  for (const net::SocketAddress& address : addresses) hosts.insert(address.Host());
  return fmt::format("{}", fmt::join(hosts, ", "));
}

// From the name to a connection; false: there is none.
bool ReachServer(const std::string& server, Notebook& notebook) {
  if (server.starts_with("unix:")) {
    notebook.Say("resolve", Skipped("a Unix socket has no name"));
    notebook.Say("port", Skipped("a Unix socket has no port"));
    return true;
  }
  const auto addresses = net::ParseAddresses(server);
  notebook.Say("resolve", JudgeResolve(server, addresses.status(), addresses.ok() ? HostsOf(*addresses) : ""));
  if (!addresses.ok()) {
    notebook.Say("port", Skipped("the server's name has no address"));
    return false;
  }
  const Status connected = TryToConnect(server, kConnectMax);
  notebook.Say("port", JudgePort(server, connected));
  return connected.ok();
}

void SkipFrom(const std::vector<std::string>& checks, const std::string& why, Notebook& notebook) {
  for (const std::string& check : checks) notebook.Say(check, Skipped(why));
}

void AskServer(const Settings& settings, Interruption* interruption, Notebook& notebook) {
  Settings asked = settings;
  asked.call_timeout = kCallMax;
  Client client(asked, interruption);
  const auto version = client.Call(&glim::v1::ClientApi::Stub::GetVersion, glim::v1::GetVersionRequest());
  notebook.Say("version", JudgeVersion(GLIM_VERSION, version));
  const auto who = client.Call(&glim::v1::ClientApi::Stub::WhoAmI, glim::v1::WhoAmIRequest());
  notebook.Say("token", JudgeToken(who, settings.insecure, ClockNow()));
  if (!version.ok()) return notebook.Say("workdir", Skipped("the scheduler did not tell the checkpoint root"));
  WorkdirFacts facts;
  std::error_code error;
  facts.folder = std::filesystem::current_path(error).string();
  facts.root = version->checkpoint_root();
  facts.marker = version->checkpoint_marker();
  const Machine here;
  facts.root_there = !facts.root.empty() && here.Look(facts.root).folder;
  facts.marker_there = facts.root_there && !facts.marker.empty() && here.Look(facts.root + "/" + facts.marker).there;
  facts.in_node_memory = here.Room(facts.folder).in_memory;
  notebook.Say("workdir", JudgeWorkdir(facts));
}

void LookAtServer(const Settings& settings, Interruption* interruption, Notebook& notebook) {
  const Result<Identity> identity =
      settings.insecure ? Result<Identity>(Identity()) : FindIdentity(settings, OperatorFolders());
  notebook.Say("token-file", JudgeTokenFile(settings, identity));
  if (!ReachServer(settings.server, notebook)) {
    return SkipFrom({"tls", "certificate", "token", "version", "workdir"}, "there is no connection", notebook);
  }
  const auto shown = pki::ProbeTls(settings.server, kProbeMax);
  const Outcome tls = JudgeTls(settings, identity, shown, ClockNow());
  notebook.Say("tls", tls);
  const Outcome certificate =
      shown.ok() ? JudgeServerCertificate(shown->front(), ClockNow()) : Skipped("the server shows none");
  notebook.Say("certificate", certificate);
  const bool may_ask = settings.insecure || (identity.ok() && !identity->token.empty());
  if (tls.verdict == Verdict::kFault || certificate.verdict == Verdict::kFault || !may_ask) {
    const char* const why = may_ask ? "nothing is sent to this server" : "there is no token";
    return SkipFrom({"token", "version", "workdir"}, why, notebook);
  }
  AskServer(settings, interruption, notebook);
}

}  // namespace

std::vector<Look> ClientLooks(const ClientFacts& facts, Interruption* interruption) {
  std::vector<Look> looks;
  looks.push_back(LookAt(Role::kClient, "configuration", [facts] { return JudgeConfiguration(facts); }));
  looks.push_back(LookAt(Role::kClient, "clock", [] {
    Outcome outcome = JudgeClock(ReadClockState());
    outcome.seen += "; the scheduler's clock was not compared: no answer of its tells the time";
    return outcome;
  }));
  const std::vector<std::string> of_server = {"token-file",  "resolve", "port",    "tls",
                                              "certificate", "token",   "version", "workdir"};
  looks.push_back({Role::kClient, of_server, [facts, interruption, of_server](Notebook& notebook) {
                     if (!facts.configuration.ok()) {
                       return SkipFrom(of_server, "the configuration is wrong", notebook);
                     }
                     LookAtServer(facts.settings, interruption, notebook);
                   }});
  return looks;
}

}  // namespace glim::cli::doctor
