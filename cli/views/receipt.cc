#include "cli/views/receipt.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "cli/text/words.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

std::optional<glim::v1::StartTimes> FindStart(const glim::v1::AttemptRef& ref, const JobsById& jobs) {
  const auto job = jobs.find(ref.job_id());
  if (job == jobs.end()) return std::nullopt;
  for (const auto& attempt : job->second.attempts()) {
    if (attempt.ref().number() == ref.number()) return attempt.start();
  }
  return std::nullopt;
}

void AddPhase(const char* name, std::int64_t ms, std::string* text) {
  if (ms < 0) return;
  *text += fmt::format("{}{} {}", text->empty() ? "" : ", ", name, RoundedDurationText({ms}));
}

std::string PreemptorPhases(const glim::v1::StartTimes& times) {
  std::string text;
  AddPhase("queued", times.queued_ms(), &text);
  AddPhase("notify", times.notify_ms(), &text);
  AddPhase("agree", times.agree_ms(), &text);
  AddPhase("save", times.save_ms(), &text);
  AddPhase("release", times.release_ms(), &text);
  AddPhase("start", times.start_ms(), &text);
  return text;
}

std::string OwnPhases(const glim::v1::AgreementTimes& times) {
  std::string text;
  AddPhase("notify", times.notify_ms(), &text);
  AddPhase("agree", times.agree_ms(), &text);
  AddPhase("save", times.save_ms(), &text);
  AddPhase("leave", times.leave_ms(), &text);
  AddPhase("release", times.release_ms(), &text);
  return text;
}

std::string SaveWords(const std::string& save) {
  if (save == "left_unsaved") return "left without saving";
  if (save == "killed") return "killed at the end of its grace";
  return save;
}

std::string CostLine(const Receipt& receipt) {
  const auto& agreement = receipt.agreement;
  if (agreement.state() == "withdrawn") return "withdrawn: the job went on";
  std::string text = fmt::format("{} of {} grace used", RoundedDurationText({agreement.grace_used_ms()}),
                                 RoundedDurationText({agreement.grace_ms()}));
  // Who is killed may not have come to the step that was agreed on.
  const std::string stopped = receipt.save == "killed" ? "agreed to stop" : "stopped";
  text += agreement.stop_step() >= 0 ? fmt::format(", {} after step {}", stopped, agreement.stop_step()) : "";
  if (receipt.save == "left_unsaved" && !receipt.counts_steps) {
    return text + ", left, and reported neither steps nor a save";
  }
  if (!receipt.save.empty()) text += ", " + SaveWords(receipt.save);
  text += receipt.counts_steps
              ? fmt::format(", {} {} lost", receipt.steps_lost, receipt.steps_lost == 1 ? "step" : "steps")
              : ", it reported no steps";
  return text;
}

}  // namespace

std::vector<std::uint64_t> PreemptorsOf(const glim::v1::Job& job, std::size_t count_max) {
  std::vector<std::uint64_t> ids;
  for (int i = job.attempts_size() - 1; i >= 0; --i) {
    for (const auto& agreement : job.attempts(i).agreements()) {
      const std::uint64_t id = agreement.preemptor().job_id();
      if (id != 0 && ids.size() < count_max && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  return ids;
}

std::vector<Receipt> MakeReceipts(const glim::v1::Job& job, const JobsById& preemptors) {
  std::vector<Receipt> receipts;
  for (const auto& attempt : job.attempts()) {
    for (const auto& agreement : attempt.agreements()) {
      Receipt receipt;
      receipt.attempt = attempt.ref().number();
      receipt.agreement = agreement;
      // An agreement that was withdrawn cost nothing; the attempt's end belongs to a later one.
      if (agreement.state() != "withdrawn") {
        receipt.save = attempt.save();
        receipt.steps_lost = attempt.steps_lost();
        receipt.counts_steps = ReportsSteps(attempt);
      }
      receipt.preemptor = FindStart(agreement.preemptor(), preemptors);
      receipts.push_back(std::move(receipt));
    }
  }
  return receipts;
}

std::string ReceiptText(const Receipt& receipt) {
  const auto& agreement = receipt.agreement;
  const std::string who = PreemptorText(agreement);
  std::string text = fmt::format("  interrupt {}: {}{}\n", agreement.id(), who.empty() ? "" : "for " + who + ": ",
                                 agreement.reason().empty() ? "no reason given" : agreement.reason());
  text += fmt::format("    {}\n", CostLine(receipt));
  if (agreement.swap_aborted())
    text += "    its preemptor went away afterwards: this job has first claim on the nodes\n";
  const std::string wait = receipt.preemptor ? PreemptorPhases(*receipt.preemptor) : "";
  const std::string own = OwnPhases(agreement.times());
  if (!wait.empty()) {
    text += fmt::format("    its preemptor waited: {}\n", wait);
  } else if (!own.empty()) {
    text += fmt::format("    it took: {}\n", own);
  }
  std::string escaped;  // line by line: the newlines are ours
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    escaped += Escaped(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return escaped;
}

Json ReceiptJson(const Receipt& receipt) {
  Json object;
  object["attempt"] = receipt.attempt;
  object["agreement"] = MessageJson(receipt.agreement);
  object["save"] = receipt.save;
  object["steps_lost"] = receipt.steps_lost;
  object["preemptor_wait"] = receipt.preemptor ? MessageJson(*receipt.preemptor) : Json(nullptr);
  return object;
}

}  // namespace glim::cli
