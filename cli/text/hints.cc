#include "cli/text/hints.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace glim::cli {
namespace {

// All that is given must hold.
struct KnownFailure {
  std::array<std::string_view, 2> cause;  // both in the attempt's message
  std::array<std::string_view, 3> run;    // any of these in the job's command; all empty: any command
  std::string_view hint;
};

constexpr std::string_view kNotFound = ": command not found";
constexpr std::string_view kFirstLine =
    "the first line (#!...) of the file that was started names an interpreter that is not on the node; often a "
    "carriage return, the line end of Windows, is part of the name: look with `head -1 FILE | cat -A` (^M), and mend "
    "it with `sed -i 's/\\r$//' FILE`";
constexpr std::string_view kCarriageReturn =
    "\\r is a carriage return: the lines of a script end as Windows ends them; mend it with `sed -i 's/\\r$//' FILE`, "
    "and let git leave line ends alone (`*.sh text eol=lf` in .gitattributes)";

constexpr std::array kKnown = {
    KnownFailure{{": AttributeError: 'NoneType' object has no attribute 'get'"},
                 {"torchrun", "torch.distributed.run", "torch.distributed.launch"},
                 "Debian's torchrun (torch 1.13) does not work on Python 3.11: use `launcher: per-gpu`, which needs "
                 "none"},
    KnownFailure{{": ModuleNotFoundError: No module named 'glim'"},
                 {},
                 "PYTHONPATH leads to the SDK, and something hides it: an interpreter with -I or -E, `env -i`, or a "
                 "PYTHONPATH of the job's own; add the SDK's folder there, or install it in that environment"},
    // Of bash, of env (twice: the second line is about a blank, which the carriage return counts as), of older shells.
    KnownFailure{{"cannot execute: required file not found"}, {}, kFirstLine},
    KnownFailure{{"use -[v]S to pass options in shebang lines"}, {}, kFirstLine},
    KnownFailure{{": bad interpreter"}, {}, kFirstLine},
    // The agent shows a carriage return that a message quotes as \r, and so do most programs.
    KnownFailure{{"\\r'"}, {}, kCarriageReturn},
    KnownFailure{{"\\r:"}, {}, kCarriageReturn},
    KnownFailure{{"\\r\""}, {}, kCarriageReturn},
    KnownFailure{{"\\r\xe2\x80\x99"}, {}, kCarriageReturn},
    KnownFailure{{kNotFound, "\xc2\xa0"},
                 {},
                 "the command holds a no-break space (U+00A0), which an editor shows as a space: type a space there"},
    KnownFailure{{kNotFound, "\\u200b"},
                 {},
                 "\\u200b is a zero-width space, which an editor does not show: type the command anew"},
    KnownFailure{{kNotFound, "\\ufeff"},
                 {},
                 "\\ufeff is a byte order mark, which an editor does not show: save the file as UTF-8 without it"},
    KnownFailure{{kNotFound, "\xe2\x80\x9c"},
                 {},
                 "the command holds a typographic quotation mark (U+201C), which no shell knows: type \" there"},
    KnownFailure{{kNotFound, "\xe2\x80\x93"},
                 {},
                 "the command holds a dash (U+2013), which no program takes for an option's: type - there"},
    KnownFailure{{" exited with code 127 (command not found)"},
                 {},
                 "the shell found no such program on the node: name it by its whole path, or put its folder into PATH; "
                 "in a container a job sees the system's folders, its workdir and its mounts"},
};

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool Holds(const KnownFailure& known, const glim::v1::JobSpec& spec, const glim::v1::Attempt& attempt) {
  const bool any_run = std::all_of(known.run.begin(), known.run.end(), [](auto word) { return word.empty(); });
  const bool run = any_run || std::any_of(known.run.begin(), known.run.end(), [&](std::string_view word) {
                     return !word.empty() && Contains(spec.run(), word);
                   });
  return run && std::all_of(known.cause.begin(), known.cause.end(),
                            [&](std::string_view part) { return Contains(attempt.message(), part); });
}

}  // namespace

std::string HintFor(const glim::v1::JobSpec& spec, const glim::v1::Attempt& attempt) {
  if (attempt.outcome() != "failed") return "";
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const auto& k) { return Holds(k, spec, attempt); });
  return known == kKnown.end() ? "" : std::string(known->hint);
}

std::string HintFor(const glim::v1::Job& job) {
  if (job.state() != "failed" || job.attempts_size() == 0) return "";
  return HintFor(job.spec(), job.attempts(job.attempts_size() - 1));
}

}  // namespace glim::cli
