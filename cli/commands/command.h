// What every command has in common: it adds itself to the command line, and if it is the one chosen, main runs it.
// One command, one file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/client.h"
#include "cli/interruption.h"
#include "cli/output.h"

namespace glim::cli {

// Lent to the command while it runs.
struct CommandContext {
  Client& client;
  Output& output;
  Interruption& interruption;
  const std::vector<std::string>& tail;  // what followed "--"
};

// The process's exit code is ExitCodeOf the result.
using Command = std::function<Status(CommandContext&)>;

// The command that the command line chose.
struct Selection {
  Command run;
  bool takes_tail = false;  // it reads what follows "--"
};

// Each adds its subcommand to `app`; both arguments outlive the parse.
void AddSubmit(CLI::App* app, Selection* selection);
void AddQueue(CLI::App* app, Selection* selection);
void AddStatus(CLI::App* app, Selection* selection);
void AddPlan(CLI::App* app, Selection* selection);
void AddWhy(CLI::App* app, Selection* selection);
void AddLogs(CLI::App* app, Selection* selection);
void AddCancel(CLI::App* app, Selection* selection);
void AddSuspend(CLI::App* app, Selection* selection);
void AddResume(CLI::App* app, Selection* selection);
void AddEvents(CLI::App* app, Selection* selection);
void AddHistory(CLI::App* app, Selection* selection);
void AddNodes(CLI::App* app, Selection* selection);
void AddWait(CLI::App* app, Selection* selection);
void AddVersion(CLI::App* app, Selection* selection);
void AddAdmin(CLI::App* app, Selection* selection);
// The parts of `admin` that have files of their own.
void AddAdminConfig(CLI::App* admin, Selection* selection);
void AddAdminReport(CLI::App* admin, Selection* selection);

// Adds the argument JOB, a job's number, to `command`.
CLI::Option* AddJobArgument(CLI::App* command, std::uint64_t* job_id);
// Adds the argument JOB..., one or more of them.
void AddJobsArgument(CLI::App* command, std::vector<std::uint64_t>* job_ids);

// What is to be said when some of several jobs failed: one failure as it is, more than one as a list under `what`
// ("2 of 3 jobs were not cancelled"). Ok if there is none. The first one's code counts.
Status Together(const std::vector<Status>& failures, std::size_t of, const char* what);

// Adds an option whose value is a duration ("30s", "5m"; a bare number is seconds).
CLI::Option* AddDurationOption(CLI::App* command, const std::string& names, Duration* target, const std::string& help);

// Since the epoch, by this machine's clock.
TimePoint Now();

}  // namespace glim::cli
