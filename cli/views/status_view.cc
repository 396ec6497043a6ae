#include <algorithm>

#include <fmt/format.h>

#include "cli/text/gpus.h"
#include "cli/text/hints.h"
#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/idle_gpus_text.h"
#include "cli/views/save_failure_text.h"
#include "cli/views/stall_text.h"
#include "cli/views/views.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

void AddLine(const char* label, const std::string& value, std::string* text) {
  if (!value.empty()) *text += fmt::format("{:<11} {}\n", label, Escaped(value));
}

std::string Size(const glim::v1::Job& job) {
  const auto& spec = job.spec();
  return fmt::format("{} x {} GPUs = {}", spec.nodes(), spec.gpus_per_node(),
                     GpuText(GpusOf(job), HasSimulatedGpus(job)));
}

std::string Durable(const glim::v1::Job& job) {
  if (job.durable_step() < 0) return "none yet";
  const std::string step = fmt::format("step {}", job.durable_step());
  return job.durable_path().empty() ? step : step + " in " + job.durable_path();  // where: not of others' jobs
}

std::string KeptUntil(const glim::v1::Job& job, TimePoint now) {
  const TimePoint until{job.saves_kept_until_ms()};
  if (!until) return "";
  const std::string date = FormatRfc3339(until);
  if (until <= now) {
    return fmt::format("saves were kept until {}: being removed, or gone (glim events {} tells when)", date, job.id());
  }
  return fmt::format("saves are kept until {}, then Glim removes them (the policy's checkpoint_retention)", date);
}

std::string InterruptsText(const glim::v1::Job& job) {
  const bool counts = job.steps_lost() > 0 || std::any_of(job.attempts().begin(), job.attempts().end(), ReportsSteps);
  if (job.interrupts() > 0 && !counts) return fmt::format("{}; it reported no steps", job.interrupts());
  return fmt::format("{}, {} {} lost in all", job.interrupts(), job.steps_lost(),
                     job.steps_lost() == 1 ? "step" : "steps");
}

std::string Header(const glim::v1::Job& job, TimePoint now, bool colour) {
  std::string text = fmt::format("job {} {}\n", job.id(), Tint(Escaped(job.spec().name()), Style::kBold, colour));
  const std::string note = JobNote(job);
  text += fmt::format("{:<11} {}{}\n", "state", Tint(Escaped(job.state()), StateStyle(job.state()), colour),
                      note.empty() ? "" : fmt::format(" ({})", Escaped(note)));
  AddLine("user", job.team().empty() ? job.user() : fmt::format("{} (team {})", job.user(), job.team()), &text);
  AddLine("pool", fmt::format("{}, priority {}", job.spec().pool(), job.priority()), &text);
  AddLine("nodes", Size(job), &text);
  AddLine("submitted", FormatAgo({job.submitted_at_ms()}, now), &text);
  if (job.ended_at_ms() != 0) AddLine("ended", FormatAgo({job.ended_at_ms()}, now), &text);
  AddLine("interrupts", InterruptsText(job), &text);
  if (job.ended_at_ms() == 0) AddLine("asked by", job.asked_by(), &text);
  AddLine("", job.protection(), &text);
  AddLine("checkpoint", Durable(job), &text);
  AddLine("", job.saves(), &text);
  AddLine("", KeptUntil(job, now), &text);
  if (const std::string uses = UsesLine(job.uses()); !uses.empty()) {
    AddLine("gpu time", uses + (HasSimulatedGpus(job) ? " (simulated)" : ""), &text);
  }
  if (job.spec().has_snapshot()) AddLine("code", SnapshotText(job.spec().snapshot()), &text);
  AddLine("run", Shorten(job.spec().run(), 100), &text);
  return text;
}

std::string Zones(const glim::v1::Attempt& attempt) {
  std::string zones;
  for (const std::string& zone : attempt.zones()) zones += (zones.empty() ? "" : "+") + zone;
  if (zones.empty()) return "";
  return fmt::format(", zone{} {}", attempt.zones_size() > 1 ? "s" : "", zones);
}

std::string Times(const glim::v1::Attempt& attempt, TimePoint now) {
  if (attempt.ended_at_ms() != 0) {
    const std::int64_t begin = attempt.running_at_ms() != 0 ? attempt.running_at_ms() : attempt.started_at_ms();
    const std::string ran = begin == 0 ? "never ran" : "ran " + RoundedDurationText({attempt.ended_at_ms() - begin});
    return fmt::format(", {}, ended {}", ran, FormatAgo({attempt.ended_at_ms()}, now));
  }
  if (attempt.running_at_ms() != 0) return fmt::format(", began {}", FormatAgo({attempt.running_at_ms()}, now));
  return fmt::format(", claimed {}", FormatAgo({attempt.claimed_at_ms()}, now));
}

// What its own wait was made of; only phases that happened.
std::string WaitLine(const glim::v1::StartTimes& start) {
  std::string text;
  const auto add = [&text](const char* name, std::int64_t ms) {
    if (ms >= 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, RoundedDurationText({ms}));
  };
  add("queued", start.queued_ms());
  add("notify", start.notify_ms());
  add("agree", start.agree_ms());
  add("save", start.save_ms());
  add("release", start.release_ms());
  add("start", start.start_ms());
  return text.empty() ? "" : fmt::format("  waited: {}\n", text);
}

// Of the node's processes, as `glim logs --rank` takes them: "0-7".
std::string RanksOf(std::uint32_t node, const glim::v1::JobSpec& spec) {
  const std::uint32_t count = spec.launcher() == glim::v1::LAUNCHER_PER_GPU ? std::max(1u, spec.gpus_per_node()) : 1;
  const std::uint32_t first = node * count;
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

std::string TaskTable(const glim::v1::Attempt& attempt, const glim::v1::JobSpec& spec, bool colour) {
  Table table({{"RANK", true},
               {"NODE", false, 40},
               {"ZONE"},
               {"GPUS", true},
               {"PHASE"},
               {"STEP", true},
               {"EXIT", true},
               {"NOTE", false, 80}});
  for (const auto& task : attempt.tasks()) {
    const bool never_ran = attempt.outcome() == "start_failed" && task.exit_code() == 0;  // of earlier schedulers
    const bool ended = !never_ran && task.exit_code() >= 0 && (task.phase() == "exited" || task.phase() == "released");
    table.AddRow({RanksOf(task.index(), spec), task.node(), task.zone(),
                  GpuText(spec.gpus_per_node(), task.simulated_gpus()), task.phase(),
                  task.step() >= 0 ? std::to_string(task.step()) : "-", ended ? std::to_string(task.exit_code()) : "-",
                  task.message()});
  }
  return table.empty() ? "" : table.Render(colour, 2);
}

// The scheduler keeps the newest attempts; the history has all of them.
std::string LeftOut(const glim::v1::Job& job) {
  const std::uint32_t count = AttemptsLeftOut(job);
  if (count == 0) return "";
  const std::string which = count == 1 ? "attempt 1 is" : fmt::format("attempts 1 to {} are", count);
  return fmt::format("\n{} left out here: glim events {} tells of all attempts, and on which nodes they were\n", which,
                     job.id());
}

}  // namespace

std::uint32_t AttemptsLeftOut(const glim::v1::Job& job) {
  return job.attempts_size() == 0 ? 0 : std::max(1u, job.attempts(0).ref().number()) - 1;
}

std::string StatusText(const glim::v1::Job& job, const std::vector<Receipt>& receipts, TimePoint now, bool colour) {
  std::string text = Header(job, now, colour) + LeftOut(job);
  for (const auto& attempt : job.attempts()) {
    text += fmt::format("\nattempt {}: {}{}{}, {}{}\n", attempt.ref().number(),
                        Tint(Escaped(AttemptVerdict(attempt)), AttemptStyle(attempt), colour), Escaped(Zones(attempt)),
                        attempt.borrowed() ? ", borrowed" : "", StepRange(attempt), Times(attempt, now));
    if (!attempt.message().empty()) text += fmt::format("  {}\n", Escaped(attempt.message()));
    if (const std::string hint = HintFor(job.spec(), attempt); !hint.empty()) text += fmt::format("  hint: {}\n", hint);
    text += StallText(attempt, now, {.indent = 2, .stacks = false});
    text += IdleGpusText(attempt, now, 2);
    text += SaveFailureText(attempt, 2);
    text += WaitLine(attempt.start());
    text += TaskTable(attempt, job.spec(), colour);
    for (const Receipt& receipt : receipts) {
      if (receipt.attempt == attempt.ref().number()) text += ReceiptText(receipt);
    }
  }
  if (job.blockers_size() > 0) text += "\nwaiting: " + WhyText(job, colour);
  return text;
}

}  // namespace glim::cli
