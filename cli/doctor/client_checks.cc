#include "cli/doctor/client_checks.h"

#include <fmt/format.h>

#include "cli/text/text.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"
#include "sdk/pki/verify.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kTokenSoon = Hours(24);

// A refusal as it is said everywhere else.
Outcome FaultOf(const Status& status, const std::string& fix) {
  const std::string reason = status.reason().empty() ? "" : fmt::format(" [{}]", status.reason());
  return Fault(status.message() + reason, status.fix().empty() ? fix : status.fix());
}

// "of ~/.config/glim/config.yaml": what there is of configuration.
std::string FilesText(const std::vector<std::string>& files) {
  return files.empty() ? "no configuration file" : fmt::format("{}", fmt::join(files, ", "));
}

std::string MajorMinor(const std::string& version) { return version.substr(0, version.rfind('.')); }

}  // namespace

Outcome JudgeConfiguration(const ClientFacts& facts) {
  if (!facts.configuration.ok()) {
    return FaultOf(facts.configuration, "mend that file, or take it away");
  }
  const std::string seen = fmt::format("{}; the server is {}{}", FilesText(facts.files), facts.settings.server,
                                       facts.settings.server_named ? "" : ", which nobody named");
  if (!facts.warnings.empty()) {
    return Warning(seen + "; " + facts.warnings.front(), "let the file belong to you, with mode 0644");
  }
  return Good(seen);
}

Outcome JudgeTokenFile(const Settings& settings, const Result<Identity>& identity) {
  if (settings.insecure) return Skipped("without identity there are no tokens");
  if (!identity.ok()) return FaultOf(identity.status(), "'glim login'");
  if (identity->token.empty()) return Fault("no file holds a token", "'glim login --server HOST:PORT'");
  return Good(identity->token_file + ", yours alone");
}

Outcome JudgeResolve(const std::string& server, const Status& resolved, const std::string& addresses) {
  if (resolved.ok()) return Good(fmt::format("{} is {}", server, addresses));
  return Fault(resolved.message(),
               "check the name (--server, GLIM_SERVER, configuration), and this machine's resolver");
}

Outcome JudgePort(const std::string& server, const Status& connected) {
  if (connected.ok()) return Good(server + " takes connections");
  return Fault(fmt::format("nothing takes connections at {}: {}", server, connected.message()),
               "check that glim-scheduler runs there and listens beyond its own machine (`listen`), and what filters "
               "the network in between");
}

Outcome JudgeTls(const Settings& settings, const Result<Identity>& identity,
                 const Result<std::vector<pki::Certificate>>& shown, TimePoint now) {
  if (settings.insecure) {
    if (!shown.ok())
      return Warning("no TLS and no tokens: anybody is who they say they are", "give the cluster identity");
    return Fault("the server speaks TLS, and is asked without",
                 "leave out insecure_without_identity (flag, GLIM_INSECURE_WITHOUT_IDENTITY, configuration)");
  }
  if (!shown.ok()) return FaultOf(shown.status(), "check the address: another program may answer there");
  if (!identity.ok()) return Skipped("it is not known by which authority (token-file)");
  const auto known = pki::ReadCertificates(identity->authorities);
  if (!known.ok()) return FaultOf(known.status(), "'glim login' anew");
  const Status verdict = pki::VerifyLeaf(shown->front(), *known, pki::Purpose::kScheduler, now);
  if (verdict.ok() || verdict.reason() == "CERTIFICATE_EXPIRED") {
    return Good("a scheduler of the authority " + identity->fingerprint);
  }
  return Fault(fmt::format("{} is not a scheduler of the authority {} [WRONG_AUTHORITY]", settings.server,
                           identity->fingerprint),
               "check the address; if the operator has changed the authority, 'glim login' with the new fingerprint");
}

Outcome JudgeServerCertificate(const pki::Certificate& shown, TimePoint now) {
  const std::string until = FormatRfc3339(shown.valid_until());
  if (now > shown.valid_until()) {
    return Fault("the server's certificate ended at " + until,
                 "check this machine's clock; else restart glim-scheduler, which renews what it shows");
  }
  if (now < shown.valid_from()) {
    return Fault("the server's certificate begins at " + FormatRfc3339(shown.valid_from()) + " by this clock",
                 "set this machine's clock");
  }
  // The scheduler renews it by itself when two thirds are over.
  const bool late = now.ms > shown.valid_from().ms + (shown.valid_until().ms - shown.valid_from().ms) / 10 * 9;
  if (late) return Warning("the server's certificate ends at " + until, "see why the scheduler has not renewed it");
  return Good("until " + until);
}

Outcome JudgeToken(const Result<glim::v1::WhoAmIResponse>& who, bool without_identity, TimePoint now) {
  if (!who.ok()) return FaultOf(who.status(), "'glim login'");
  const std::string user = fmt::format("{}, {}", Escaped(who->user()), Escaped(who->role()));
  if (without_identity) return Good(user + ", without identity");
  const TimePoint end{who->expires_at_ms()};
  if (end.ms == 0) return Good(user + "; the token never ends");
  const std::string left = RoundedDurationText(end - now);
  if (end - now < kTokenSoon) return Warning(user + "; the token ends in " + left, "'glim login' before that");
  return Good(fmt::format("{}; the token ends in {}", user, left));
}

Outcome JudgeVersion(const std::string& own, const Result<glim::v1::GetVersionResponse>& server) {
  if (!server.ok()) return Skipped("the scheduler did not tell its version");
  const std::string seen =
      fmt::format("glim {}, scheduler {} (protocol {})", own, Escaped(server->version()), server->protocol_version());
  if (MajorMinor(own) == MajorMinor(server->version())) return Good(seen);
  return Warning(seen, "install the scheduler's release of glim here");
}

Outcome JudgeClock(ClockState state) {
  const char* const fix = "let chrony or systemd-timesyncd set the clock (timedatectl set-ntp true)";
  switch (state) {
    case ClockState::kSynchronised: return Good("the kernel says that it is synchronised");
    case ClockState::kNotSynchronised: return Warning("the kernel says that nothing synchronises it", fix);
    case ClockState::kUnknown: break;
  }
  return Skipped("the kernel does not tell");
}

Outcome JudgeWorkdir(const WorkdirFacts& facts) {
  if (facts.root.empty()) {
    return Skipped("the cluster has no checkpoint root: nothing here tells which folders nodes see");
  }
  if (!facts.root_there) {
    return Warning(fmt::format("the checkpoint root {} is not on this machine", Escaped(facts.root)),
                   "mount it here as on the nodes: else neither --snapshot nor `glim ckpt` sees it");
  }
  if (!facts.marker_there) {
    return Fault(fmt::format("{} here is not the folder that nodes share: it has no {}", Escaped(facts.root),
                             Escaped(facts.marker)),
                 "mount the nodes' file system there");
  }
  if (facts.in_node_memory) {
    return Warning(facts.folder + " lies in this machine's memory: no node sees it",
                   "submit from a folder that nodes mount, or with --snapshot");
  }
  return Good(fmt::format("{} is the nodes' own", Escaped(facts.root)));
}

}  // namespace glim::cli::doctor
