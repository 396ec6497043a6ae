#include "cli/commands/confirm.h"

#include <cstdio>
#include <iostream>

#include <unistd.h>

#include "cli/text/errors.h"
#include "cli/text/text.h"

namespace glim::cli {

void AddChangeOptions(Syntax command, ChangeOptions* options, Presence reason) {
  command.Option("--reason", &options->reason, "why: shown to those whom it concerns, and in the audit trail", reason);
  command.Flag("-y,--yes", &options->yes, "do not ask");
  command.Flag("--dry-run", &options->dry_run, "show what would change, and change nothing");
}

Status Confirm(CommandContext& context, const ChangeOptions& options, const std::string& what,
               const std::string& question) {
  if (options.yes) return Status::Ok();
  if (::isatty(STDIN_FILENO) != 1) {
    return UsageError("nothing was changed: there is no terminal to ask on", "give -y to do it, or --dry-run to look");
  }
  if (!context.output.json()) std::fputs(what.c_str(), stderr);
  std::fprintf(stderr, "%s [y/N] ", Escaped(question).c_str());
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (Trimmed(answer) == "y" || Trimmed(answer) == "yes") return Status::Ok();
  return Status(StatusCode::kUnknown, "nothing was changed").WithReason("NOT_CONFIRMED").WithFix("answer y to do it");
}

}  // namespace glim::cli
