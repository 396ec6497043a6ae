#include "cli/doctor/server_checks.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "cli/doctor/client_checks.h"
#include "cli/rpc/config.h"
#include "cli/text/text.h"
#include "sdk/pki/tls_probe.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kSchedulerSettingsMax = Milliseconds(1500);
constexpr Duration kStoreMax = Milliseconds(4500);
constexpr Duration kServerReachMax = Seconds(2);
constexpr std::int64_t kConnectionsWanted = 65536;
constexpr char kSchedulerConfig[] = "/etc/glim/scheduler.yaml";
constexpr char kSqliteWord[] = "sqlite:";

TimePoint ServerNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

std::string SqlitePath(const ProgramSettings& settings) {
  const std::string store = Setting(settings, "store");
  return store.starts_with(kSqliteWord) ? store.substr(std::strlen(kSqliteWord)) : "";
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Outcome LookAtStore(const SettingsFacts& facts, const ProgramSettings& settings) {
  const Machine here;
  if (const std::string path = SqlitePath(settings); !path.empty()) {
    const std::string folder = FolderOf(path);
    return JudgeSqlite({path, here.Look(path), here.Look(folder), here.Room(folder)});
  }
  if (Setting(settings, "store") == "memory") {
    return Warning("the store is memory: it forgets all at the scheduler's end", "name sqlite:PATH or postgres");
  }
  std::vector<std::string> words = {facts.program, "settings"};
  if (!facts.source.empty()) words.insert(words.end(), {"--config", facts.source});
  words.emplace_back("--ask-store");
  return JudgePostgres(RunProgram(words, kStoreMax), LoginName());
}

Outcome LookAtCertificate(const ProgramSettings& settings) {
  if (SaysYes(settings, "insecure_without_identity")) {
    return Warning("no TLS and no tokens: whoever reaches a port may do everything",
                   "leave out insecure_without_identity");
  }
  const std::string address = ReachedHere(Setting(settings, "listen"));
  if (!TryToConnect(address, kServerReachMax).ok()) return Skipped("nothing listens at " + address);
  const auto shown = pki::ProbeTls(address, kServerReachMax);
  if (!shown.ok()) return Fault(shown.status().message(), "another program may have the port: see `ports`");
  return JudgeServerCertificate(shown->front(), ServerNow());
}

}  // namespace

SettingsFacts AskSchedulerSettings(const Machine& machine, const std::string& config) {
  SettingsFacts facts{FindGlimProgram("glim-scheduler"), config, {}};
  if (config.empty() && machine.Look(kSchedulerConfig).there) facts.source = kSchedulerConfig;
  if (facts.program.empty()) return facts;
  std::vector<std::string> words = {facts.program, "settings"};
  if (!facts.source.empty()) words.insert(words.end(), {"--config", facts.source});
  facts.end = RunProgram(words, kSchedulerSettingsMax);
  return facts;
}

std::string ReachedHere(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  if (colon == std::string::npos) return listen;
  if (host == "0.0.0.0") return "127.0.0.1" + listen.substr(colon);
  return host == "[::]" ? "[::1]" + listen.substr(colon) : listen;
}

Outcome JudgeSqlite(const SqliteFacts& facts) {
  const std::string folder = FolderOf(facts.path);
  if (facts.folder.error == EACCES || facts.file.error == EACCES) {
    return Skipped(fmt::format("only the scheduler's user may look into {}", folder));
  }
  if (!facts.folder.there) {
    return Fault("there is no folder " + folder, "make it for the scheduler's user (StateDirectory= of its unit does)");
  }
  if (facts.room.in_memory) {
    return Fault(folder + " lies in memory: what is acknowledged does not outlive the machine",
                 "name a folder on a disk with `store`");
  }
  if ((facts.folder.mode & 022U) != 0) {
    return Fault(folder + " may be written by others", "chmod 700 " + folder);
  }
  if (!facts.file.there) return Good(facts.path + " is made at the first start");
  if (facts.file.owner != facts.folder.owner) {
    return Fault(
        fmt::format("{} belongs to uid {}, its folder to uid {}", facts.path, facts.file.owner, facts.folder.owner),
        fmt::format("chown --reference={} {}*", folder, facts.path));
  }
  if ((facts.folder.mode & 077U) != 0 && (facts.file.mode & 077U) != 0) {
    return Warning(facts.path + " may be read by others", "chmod 700 " + folder);
  }
  return Good(facts.path);
}

Outcome JudgePostgres(const ProgramEnd& answer, const std::string& who) {
  const ProgramSettings said = ParseSettings(answer.out);
  if (!answer.in_time) {
    return Fault("the database does not answer",
                 "check where it is and what filters the network; docs/operations/install.md");
  }
  if (const std::string fault = Setting(said, "store_fault"); !fault.empty() || answer.code != 0) {
    const std::string why = fault.empty() ? Trimmed(answer.err) : fault;
    return Fault(fmt::format("asked by {}: {}", who, Shorten(Escaped(why), 300)),
                 "ask as the scheduler's user (sudo -u glim glim doctor server); then mend the database's place, its "
                 "pg_hba.conf, or the password's file");
  }
  const std::string version = Setting(said, "store_version");
  const auto numbers = VersionIn(version);
  if (!numbers || numbers->front() < 13) return Fault("PostgreSQL " + version, "install PostgreSQL 13 or newer");
  return Good("PostgreSQL " + version + " answers");
}

Outcome JudgeKeyFile(const KeyFileFacts& facts) {
  if (facts.without_identity) return Skipped("without identity there is none");
  const std::string folder = FolderOf(facts.path);
  if (facts.file.error == EACCES) return Skipped("only the scheduler's user may look at " + facts.path);
  if (!facts.file.there) {
    if (!facts.store_there) return Good(facts.path + " is made at the first start");
    return Fault("there is a store, and no key file " + facts.path,
                 "bring it back from its backup; lost for good: glim-scheduler break-glass --new-keys");
  }
  if ((facts.file.mode & 077U) != 0) {
    return Fault(
        facts.path + " is open to others",
        fmt::format("chmod 600 {}; if others could read it, change the authority: glim admin ca rotate", facts.path));
  }
  if (facts.beside_store) {
    return Warning(facts.path + " lies beside the store: a backup of one has both",
                   "move it to a folder of its own (key_file), and back it up apart");
  }
  return Good(facts.path);
}

Outcome JudgeMetrics(const std::string& metrics, const Status& connected) {
  if (metrics == "none" || metrics.empty())
    return Warning("`metrics: none`: no alert can fire", "metrics: 127.0.0.1:7602");
  if (connected.ok()) return Good(metrics + " takes connections");
  return Warning(fmt::format("{}: {}", metrics, connected.message()), "see whether glim-scheduler runs, and its log");
}

std::vector<Look> ServerLooks(const SettingsFacts& facts) {
  const ProgramSettings settings = ParseSettings(facts.end.out);
  std::vector<Look> looks;
  const auto add = [&](const char* check, std::function<Outcome()> run) {
    looks.push_back(LookAt(Role::kServer, check, std::move(run)));
  };
  const Machine here;
  add("configuration", [=] { return JudgeSettings("glim-scheduler", facts); });
  add("clock", [] { return JudgeClock(ReadClockState()); });
  add("descriptors",
      [=] { return JudgeDescriptors("glim-scheduler", ReadLimitsOf(here, "glim-scheduler"), kConnectionsWanted); });
  add("units", [=] {
    const bool runs = SystemdRuns(here);
    return runs ? JudgeUnits(runs, {AskUnit("glim-scheduler.service", true)}) : JudgeUnits(runs, {});
  });
  if (settings.empty()) {
    for (const char* check : {"store", "key-file", "ports", "certificate", "metrics", "disk"}) {
      add(check, [] { return Skipped("the scheduler's configuration is not known"); });
    }
    return looks;
  }
  add("store", [=] { return LookAtStore(facts, settings); });
  add("key-file", [=] {
    const std::string path = Setting(settings, "key_file"), store = SqlitePath(settings);
    return JudgeKeyFile({path, here.Look(path), SaysYes(settings, "key_file_beside_store"),
                         !store.empty() && here.Look(store).there, SaysYes(settings, "insecure_without_identity")});
  });
  add("ports", [=] {
    return JudgePorts("glim-scheduler",
                      ReadPorts(here, settings, {"listen", "listen_agents", "listen_http", "metrics"}));
  });
  add("certificate", [=] { return LookAtCertificate(settings); });
  add("metrics", [=] {
    const std::string address = Setting(settings, "metrics");
    const bool served = !address.empty() && address != "none";
    return JudgeMetrics(address, served ? TryToConnect(ReachedHere(address), kServerReachMax) : Status::Ok());
  });
  add("disk", [=] {
    const std::string state = Setting(settings, "state_dir");
    return state.empty() ? Skipped("the store is elsewhere") : JudgeRooms({{state, here.Room(state)}});
  });
  return looks;
}

}  // namespace glim::cli::doctor
