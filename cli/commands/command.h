// What every command has in common: it adds itself to the command line, and if it is the one chosen, main runs it.
// One command, one file.
//
// Sources: command.cc, admin.cc, admin_audit.cc, admin_ca.cc, admin_config.cc, admin_node.cc, admin_report.cc,
// admin_token.cc, admin_users.cc, cancel.cc, doctor.cc, events.cc, history.cc, login.cc, logout.cc, logs.cc, nodes.cc,
// plan.cc, queue.cc, resume.cc, secret.cc, status.cc, submit.cc, suspend.cc, update.cc, version.cc, wait.cc, whoami.cc,
// why.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/commands/syntax.h"
#include "cli/rpc/client.h"
#include "cli/rpc/interruption.h"
#include "cli/text/output.h"

namespace glim::cli {

// Lent to the command while it runs.
struct CommandContext {
  Client& client;
  Output& output;
  Interruption& interruption;
  const std::vector<std::string>& tail;  // what followed "--"
  Status configuration;                  // why it cannot be used, for who bears that: then the client has the defaults
  std::vector<std::string> warnings;     // about configuration files that were left out; they have been said
};

// The process's exit code is ExitCodeOf the result.
using Command = std::function<Status(CommandContext&)>;

// The command that the command line chose.
struct Selection {
  Command run;
  bool takes_tail = false;          // it reads what follows "--"
  bool prints_yaml = false;         // `-o yaml` means something to it
  bool bears_bad_settings = false;  // it runs although the configuration cannot be used
  std::string config;               // a file instead of the user's own; empty: that
};

// Each adds its command to `app`; `selection` outlives the parse.
void AddSubmit(Syntax app, Selection* selection);
void AddQueue(Syntax app, Selection* selection);
void AddStatus(Syntax app, Selection* selection);
void AddPlan(Syntax app, Selection* selection);
void AddWhy(Syntax app, Selection* selection);
void AddLogs(Syntax app, Selection* selection);
void AddCancel(Syntax app, Selection* selection);
void AddSuspend(Syntax app, Selection* selection);
void AddResume(Syntax app, Selection* selection);
void AddUpdate(Syntax app, Selection* selection);
void AddEvents(Syntax app, Selection* selection);
void AddHistory(Syntax app, Selection* selection);
void AddNodes(Syntax app, Selection* selection);
void AddWait(Syntax app, Selection* selection);
void AddCkpt(Syntax app, Selection* selection);  // ckpt.h has its commands
void AddLogin(Syntax app, Selection* selection);
void AddLogout(Syntax app, Selection* selection);
void AddWhoami(Syntax app, Selection* selection);
void AddSecret(Syntax app, Selection* selection);
void AddDoctor(Syntax app, Selection* selection);
void AddVersion(Syntax app, Selection* selection);
void AddAdmin(Syntax app, Selection* selection);
// The parts of `admin` that have files of their own.
void AddAdminConfig(Syntax admin, Selection* selection);
void AddAdminReport(Syntax admin, Selection* selection);
void AddAdminUsers(Syntax admin, Selection* selection);
void AddAdminToken(Syntax admin, Selection* selection);
void AddAdminNode(Syntax admin, Selection* selection);
void AddAdminAudit(Syntax admin, Selection* selection);
void AddAdminCa(Syntax admin, Selection* selection);

// Adds the argument JOB, a job's number, to `command`.
void AddJobArgument(Syntax command, std::uint64_t* job_id, Presence presence = Presence::kRequired);
// Adds the argument JOB..., one or more of them.
void AddJobsArgument(Syntax command, std::vector<std::uint64_t>* job_ids, Presence presence = Presence::kRequired);

// What is to be said when some of several jobs failed: one failure as it is, more than one as a list under `what`
// ("2 of 3 jobs were not cancelled"). Ok if there is none. The first one's code counts.
Status Together(const std::vector<Status>& failures, std::size_t of, const char* what);

// Adds an option whose value is a duration ("30s", "5m"; a bare number is seconds).
void AddDurationOption(Syntax command, const std::string& names, Duration* target, const std::string& help);

// Since the epoch, by this machine's clock.
TimePoint Now();

}  // namespace glim::cli
