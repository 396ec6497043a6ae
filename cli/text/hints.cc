#include "cli/text/hints.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace glim::cli {
namespace {

// All that is given must hold.
struct KnownFailure {
  std::string_view cause;               // in the attempt's message
  std::array<std::string_view, 3> run;  // any of these in the job's command; all empty: any command
  std::string_view hint;
};

constexpr std::array kKnown = {
    KnownFailure{": AttributeError: 'NoneType' object has no attribute 'get'",
                 {"torchrun", "torch.distributed.run", "torch.distributed.launch"},
                 "Debian's torchrun (torch 1.13) does not work on Python 3.11: use `launcher: per-gpu`, which needs "
                 "none"},
    KnownFailure{": ModuleNotFoundError: No module named 'glim'",
                 {},
                 "PYTHONPATH leads to the SDK, and something hides it: an interpreter with -I or -E, `env -i`, or a "
                 "PYTHONPATH of the job's own; add the SDK's folder there, or install it in that environment"},
    KnownFailure{" exited with code 127 (command not found)",
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
  return run && Contains(attempt.message(), known.cause);
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
