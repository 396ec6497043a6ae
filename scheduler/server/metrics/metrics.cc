#include "scheduler/server/metrics/metrics.h"

#include <string>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/metrics/health_figures.h"

namespace glim::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
const Buckets kQuick = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};
const Buckets kPhases = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300};
const Buckets kWaits = {1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600};

// Few, so that the waits of each class do not become hundreds of series.
const char* SizeOf(std::size_t nodes) {
  if (nodes <= 1) return "1";
  if (nodes <= 8) return "2-8";
  return nodes <= 32 ? "9-32" : "33+";
}

double InSeconds(std::int64_t ms) { return static_cast<double>(ms) / 1000.0; }

const char* WordOf(core::SaveResult left) { return left == core::SaveResult::kNone ? "none" : core::ToString(left); }

const char* WordOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid_argument";
    case StatusCode::kNotFound: return "not_found";
    case StatusCode::kAlreadyExists: return "already_exists";
    case StatusCode::kFailedPrecondition: return "failed_precondition";
    case StatusCode::kResourceExhausted: return "resource_exhausted";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kPermissionDenied: return "permission_denied";
    case StatusCode::kUnauthenticated: return "unauthenticated";
    case StatusCode::kDeadlineExceeded: return "deadline_exceeded";
    case StatusCode::kAborted: return "aborted";
    case StatusCode::kInternal: return "internal";
    default: return "other";
  }
}

}  // namespace

Metrics::Metrics() {
  MakeSchedulerFamilies();
  MakeInterruptFamilies();
  MakeHealthFamilies();
  MakeCallFamilies();
}

Metrics::Counters* Metrics::Counted(const char* name, const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(*registry_);
}

Metrics::Histograms* Metrics::Observed(const char* name, const char* help) {
  return &prometheus::BuildHistogram().Name(name).Help(help).Register(*registry_);
}

void Metrics::MakeSchedulerFamilies() {
  pass_ = &Observed("glim_sched_pass_seconds", "Taking a batch of events in and planning, without the commit.")
               ->Add({}, kQuick);
  commit_ = &Observed("glim_store_commit_seconds", "One durable commit of a batch to the store.")->Add({}, kQuick);
  waits_ = Observed("glim_job_wait_seconds",
                    "Waits that ended: from when a job was queued until it had all its nodes, by the class that it was "
                    "charged and by how many nodes it has.");
  starts_ = &Observed("glim_job_start_seconds",
                      "Starts of attempts: from when all nodes were held until every task was seen running.")
                 ->Add({}, kPhases);
  ended_ = Counted("glim_attempts_ended_total", "Attempts that had begun and have ended, by how.");
  for (const auto outcome :
       {core::Outcome::kSucceeded, core::Outcome::kFailed, core::Outcome::kNodeFailure, core::Outcome::kGpuFailure,
        core::Outcome::kNetwork, core::Outcome::kHang, core::Outcome::kOutOfMemory}) {
    ended_->Add({{"outcome", core::ToString(outcome)}});
  }
  promises_ =
      Counted("glim_promises_total",
              "Promises that were kept or broken: grace (who was asked to leave had left before its deadline), "
              "release (its nodes were given on within kill_after_term + release_max of that deadline), wait (a "
              "job that started had waited no longer than starvation_bound).");
  for (const char* promise : {"grace", "release", "wait"}) {
    for (const char* result : {"kept", "broken"}) promises_->Add({{"promise", promise}, {"result", result}});
  }
}

void Metrics::MakeInterruptFamilies() {
  interrupts_ = Counted("glim_interrupts_total",
                        "Attempts that an interrupt ended, or that left by themselves (yield), by why and by how they "
                        "left.");
  for (const auto result : {core::SaveResult::kSaved, core::SaveResult::kLeftUnsaved, core::SaveResult::kKilled}) {
    interrupts_->Add({{"cause", ToString(InterruptCause::kPreempt)}, {"outcome", core::ToString(result)}});
  }
  phases_ = Observed("glim_interrupt_seconds",
                     "Phases of interrupts, each from the end of the one before it: notify (until the last rank has "
                     "acknowledged), agree (until the step is committed), save (until it is durable), leave (until the "
                     "last rank leaves), release (until the last node is free).");
  for (std::size_t i = 0; i < kInterruptPhases; ++i) {
    phases_->Add({{"phase", ToString(static_cast<InterruptPhase>(i))}}, kPhases);
  }
  whole_interrupts_ =
      &Observed("glim_interrupt_whole_seconds", "Interrupts, from the request to the release of the last node.")
           ->Add({}, kPhases);
  lost_ = Counted("glim_lost_gpu_seconds_total",
                  "GPU time that had been productive and was lost with an attempt, for it was not saved, by how the "
                  "attempt ended.");
  for (const char* cause :
       {"interrupt_killed", "interrupt_unsaved", "failed", "node_failure", "gpu_failure", "network", "hang"}) {
    lost_->Add({{"cause", cause}});
  }
  preemption_cost_ = Counted("glim_preemption_cost_gpu_seconds_total",
                             "What interrupts cost those who were asked: leave (their GPUs from the request to the "
                             "release), lost (what they had not saved). Starting again and restoring: "
                             "glim_gpu_seconds_total.");
  for (const char* part : {"leave", "lost"}) preemption_cost_->Add({{"part", part}});
}

void Metrics::MakeHealthFamilies() {
  health_ = Counted("glim_health_events_total",
                    "What health checks of nodes found, by the check, the code of an Xid, and what was done about it.");
  for (const char* verdict : {"recorded", "drained"}) {
    health_->Add({{"check", "link_flash"}, {"code", "none"}, {"verdict", verdict}});
  }
}

void Metrics::MakeCallFamilies() {
  denied_ = Counted("glim_denied_calls_total", "Calls that were denied, by the reason that the caller was told.");
  for (const char* reason : {"NO_TOKEN", "BAD_TOKEN", "TOKEN_EXPIRED", "ROLE", "SCOPE", "NOT_YOURS"}) {
    denied_->Add({{"reason", reason}});
  }
  answers_ = Counted("glim_api_answers_total", "Answers to users' calls, by their status.");
  for (const StatusCode code : {StatusCode::kOk, StatusCode::kInternal, StatusCode::kUnavailable}) {
    answers_->Add({{"code", WordOf(code)}});
  }
  calls_ = Observed("glim_api_request_seconds",
                    "Users' calls, from when the scheduler had the request until its answer was handed over.");
}

void Metrics::Keep(const char* promise, bool kept) {
  promises_->Add({{"promise", promise}, {"result", kept ? "kept" : "broken"}}).Increment();
}

void Metrics::Began(const Started& started) {
  waits_->Add({{"class", core::ToString(started.charged)}, {"size", SizeOf(started.nodes)}}, kWaits)
      .Observe(InSeconds(started.waited.ms));
  Keep("wait", started.wait_kept);
}

void Metrics::Left(const Interrupted& interrupt) {
  interrupts_->Add({{"cause", ToString(interrupt.cause)}, {"outcome", WordOf(interrupt.left)}}).Increment();
  if (!interrupt.asked) return;
  for (std::size_t i = 0; i < kInterruptPhases; ++i) {
    if (interrupt.phases_ms.at(i) < 0) continue;
    phases_->Add({{"phase", ToString(static_cast<InterruptPhase>(i))}}, kPhases)
        .Observe(InSeconds(interrupt.phases_ms.at(i)));
  }
  whole_interrupts_->Observe(InSeconds(interrupt.took.ms));
  preemption_cost_->Add({{"part", "leave"}}).Increment(InSeconds(interrupt.leave_gpu_ms));
  Keep("grace", interrupt.grace_kept);
  Keep("release", interrupt.release_kept);
}

void Metrics::OnChanged(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                        const core::Policy& policy) {
  for (const HealthFound& found : NewHealthEvents(before, mutations)) {
    health_->Add({{"check", found.check}, {"code", found.code}, {"verdict", found.verdict}}).Increment();
  }
  const CommitFigures figures = FiguresOf(before, mutations, policy);
  for (const Started& started : figures.started) Began(started);
  for (const Duration took : figures.starting) starts_->Observe(InSeconds(took.ms));
  for (const Ended& ended : figures.ended) {
    const char* const outcome = ended.outcome == core::Outcome::kNone ? "none" : core::ToString(ended.outcome);
    ended_->Add({{"outcome", outcome}}).Increment();
    if (ended.interrupt) Left(*ended.interrupt);
    if (ended.lost_gpu_ms <= 0) continue;
    lost_->Add({{"cause", LossCause(ended)}}).Increment(InSeconds(ended.lost_gpu_ms));
    if (ended.interrupt && ended.interrupt->asked) {
      preemption_cost_->Add({{"part", "lost"}}).Increment(InSeconds(ended.lost_gpu_ms));
    }
  }
}

void Metrics::OnCallDone(const Permission& row, double seconds, StatusCode code) {
  auto& known = calls_of_.at(static_cast<std::size_t>(&row - Permissions().data()));
  prometheus::Histogram* histogram = known.load();
  if (histogram == nullptr) {  // of two that come first at once both get the same one
    histogram = &calls_->Add({{"method", row.method}}, kQuick);
    known.store(histogram);
  }
  histogram->Observe(seconds);
  answers_->Add({{"code", WordOf(code)}}).Increment();
}

void Metrics::OnDenied(const std::string& reason) {
  denied_->Add({{"reason", reason.empty() ? "other" : reason}}).Increment();
}

}  // namespace glim::server
