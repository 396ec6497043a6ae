#include "scheduler/core/model/interrupt_terms.h"

#include <algorithm>

#include "sdk/base/duration_text.h"

namespace glim::core {
namespace {

constexpr Duration kQuantumMost = Hours(24);

Duration MaxGraceCap(const Policy& policy, PriorityClass priority) {
  return std::max(policy.grace_cap.For(priority), policy.max_grace_cap.For(priority));
}

// A job of class auto may get any class: at the submission the largest cap counts.
Duration CapAtSubmission(const ClassDurations& caps, PriorityClass priority) {
  if (priority != PriorityClass::kAuto) return caps.For(priority);
  Duration most = caps.others;
  for (const auto& [named, cap] : caps.by_class) most = std::max(most, cap);
  return most;
}

Status AboveCap(const char* field, const char* key, Duration said, PriorityClass priority, Duration cap) {
  return InvalidArgument(
      field,
      WriteDuration(said) + " is more than jobs of class " + ToString(priority) + " may have, " + WriteDuration(cap),
      "use at most " + WriteDuration(cap) + " (" + key + " of the cluster's policy)");
}

}  // namespace

bool IsAskedBySignal(const Job& job) {
  switch (job.spec->interrupt_mode) {
    case InterruptMode::kSignal: return true;
    case InterruptMode::kCooperative: return false;
    case InterruptMode::kAuto: break;
  }
  return !job.cooperative;
}

Duration LongestGraceCap(const Policy& policy) {
  Duration longest = policy.grace_cap.others;
  for (const auto& [priority, cap] : policy.grace_cap.by_class) longest = std::max(longest, cap);
  return longest;
}

GraceTerms GraceOf(const Policy& policy, const JobSpec& spec, PriorityClass in_force) {
  return {std::min(spec.grace, policy.grace_cap.For(in_force)),
          std::min(spec.max_grace, MaxGraceCap(policy, in_force))};
}

Status CheckGrace(const Policy& policy, const JobSpec& spec) {
  const JobSpec unsaid;
  const Duration grace = CapAtSubmission(policy.grace_cap, spec.priority);
  if (spec.grace > std::max(grace, unsaid.grace)) {
    return AboveCap("interrupt.grace", "grace_cap", spec.grace, spec.priority, grace);
  }
  const Duration longest = std::max(grace, CapAtSubmission(policy.max_grace_cap, spec.priority));
  if (spec.max_grace > std::max(longest, unsaid.max_grace)) {
    return AboveCap("interrupt.max_grace", "max_grace_cap", spec.max_grace, spec.priority, longest);
  }
  return Status::Ok();
}

Duration RestoreCostOf(const Policy& policy, const Job& job) {
  if (job.restore_cost.ms <= 0) return policy.default_restore_cost;
  return std::min(job.restore_cost, std::max(policy.min_run_max, policy.default_restore_cost));
}

Duration MinRunOf(const Policy& policy, const Job& job, bool borrowed) {
  const Duration save = job.save_cost.ms > 0 ? job.save_cost : policy.default_save_cost;
  const Duration own = std::min((save + RestoreCostOf(policy, job)) * policy.min_run_factor, LongestMinRun(policy));
  return borrowed ? std::min(own, DefaultMinRun(policy)) : own;
}

Duration DefaultMinRun(const Policy& policy) {
  const Duration unknown = (policy.default_save_cost + policy.default_restore_cost) * policy.min_run_factor;
  return std::min(unknown, LongestMinRun(policy));
}

Duration LongestMinRun(const Policy& policy) { return policy.min_run_factor > 0 ? policy.min_run_max : Duration{}; }

Duration DoubledQuantum(Duration base, std::uint32_t doublings) {
  if (doublings == 0) return base;
  Duration doubled = std::max(base, kQuantumLeast);
  for (std::uint32_t i = 0; i < doublings && doubled < kQuantumMost; ++i) doubled = doubled + doubled;
  return std::max(base, std::min(doubled, kQuantumMost));
}

std::string AskedInWords(const Policy& policy, const Job& job) {
  const JobSpec& spec = *job.spec;
  const std::string signal = "SIG" + spec.interrupt_signal;
  std::string words;
  switch (spec.interrupt_mode) {
    case InterruptMode::kSignal: words = signal; break;
    case InterruptMode::kCooperative: words = "the SDK or glim-task"; break;
    case InterruptMode::kAuto:
      words = job.cooperative ? "the SDK or glim-task, which has said hello"
                              : signal + ", until the SDK or glim-task says hello";
  }
  const GraceTerms terms = GraceOf(policy, spec, job.priority);
  words += "; grace " + WriteDuration(terms.grace);
  if (terms.grace < spec.grace) {
    words +=
        std::string(", the cap of class ") + ToString(job.priority) + " (its spec: " + WriteDuration(spec.grace) + ")";
  }
  return words;
}

std::string ProtectionInWords(const Policy& policy, const Job& job) {
  const std::uint32_t times = job.quantum_doublings;
  if (times == 0) return "";
  return std::string(times == 1 ? "an interrupt" : std::to_string(times) + " interrupts") +
         " lost more than a quantum: its class leaves an attempt alone for " +
         WriteDuration(DoubledQuantum(policy.quantum_min, times)) + " at least, not " +
         WriteDuration(policy.quantum_min) + "; saves would spare it that";
}

}  // namespace glim::core
