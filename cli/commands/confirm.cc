#include "cli/commands/confirm.h"

#include <cerrno>
#include <cstdio>

#include <poll.h>
#include <unistd.h>

#include "cli/text/errors.h"
#include "cli/text/text.h"

namespace glim::cli {

void AddChangeOptions(Syntax command, ChangeOptions* options, Presence reason) {
  command.Option("--reason", &options->reason, "why: shown to those whom it concerns, and in the audit trail", reason);
  AddAskOptions(command, options);
}

void AddAskOptions(Syntax command, ChangeOptions* options) {
  command.Flag("-y,--yes", &options->yes, "do not ask");
  command.Flag("--dry-run", &options->dry_run, "show what would change, and change nothing");
}

namespace {

constexpr int kLookMs = 50;
constexpr std::size_t kAnswerMax = 80;
// A Ctrl-C that was typed before the answer may be heard after it: the signal goes by another thread.
constexpr Duration kHeardLate{50};

// A line from the terminal. Empty: its end came. After Ctrl-C nothing that is typed counts.
Result<std::string> ReadAnswer(Interruption& interruption) {
  std::string answer;
  while (!interruption.raised()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kLookMs) <= 0) continue;
    char sign = 0;
    const ssize_t count = ::read(STDIN_FILENO, &sign, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::string();
    if (sign == '\n') {
      if (interruption.WaitFor(kHeardLate)) break;
      return answer;
    }
    if (answer.size() < kAnswerMax) answer += sign;
  }
  return Interruption::Cancelled();
}

}  // namespace

Status Confirm(CommandContext& context, const ChangeOptions& options, const std::string& what,
               const std::string& question) {
  if (options.yes) return Status::Ok();
  if (::isatty(STDIN_FILENO) != 1) {
    return UsageError("nothing was changed: there is no terminal to ask on", "give -y to do it, or --dry-run to look");
  }
  std::fputs(what.c_str(), stderr);
  std::fprintf(stderr, "%s [y/N] ", Escaped(question).c_str());
  std::fflush(stderr);
  const Result<std::string> answer = ReadAnswer(context.interruption);
  if (!answer.ok() || answer->empty()) std::fputc('\n', stderr);
  if (!answer.ok()) return answer.status();
  if (Trimmed(*answer) == "y" || Trimmed(*answer) == "yes") return Status::Ok();
  return Status(StatusCode::kUnknown, "nothing was changed").WithReason("NOT_CONFIRMED").WithFix("answer y to do it");
}

}  // namespace glim::cli
