// The loop's beginning: the epoch, the rows, the quotas of the policy file, and the first commit.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/loop/store_clock.h"
#include "sdk/base/check.h"
#include "sdk/log/log.h"

namespace glim::server {

Result<std::unique_ptr<SchedulerLoop>> SchedulerLoop::Open(Options options, std::unique_ptr<store::Store> store) {
  GLIM_CHECK(options.clock && store, "a loop needs a clock and a store");
  std::unique_ptr<SchedulerLoop> loop(new SchedulerLoop(std::move(options), std::move(store)));
  if (Status may = loop->MayLead(); !may.ok()) return may;
  auto epoch = loop->store_->AcquireEpoch(loop->options_.epoch_at_least);
  if (!epoch.ok()) return epoch.status();
  loop->epoch_ = *epoch;
  auto state = loop->store_->Load();
  if (!state.ok()) return state.status();
  loop->state_ = std::move(state).value();
  auto audit = loop->store_->LastAudit();
  if (!audit.ok()) return audit.status();
  loop->chain_ = AuditChain(std::move(audit).value());
  // The clock may have been set back since the last leader wrote: time goes on from where the rows are.
  const Duration behind = loop->state_->newest - loop->options_.clock();
  if (behind.ms > 0) {
    LogWarning("the clock is behind the store, going on from the store's time behind_ms={}", behind.ms);
    loop->options_.clock = [clock = loop->options_.clock, behind] { return clock() + behind; };
  }

  loop->leads_since_ = loop->options_.clock();
  loop->policy_since_ms_ = loop->leads_since_.ms;

  std::optional<core::ChangeAccounts> imported;
  if (loop->options_.import_rows) {
    auto import = loop->options_.import_rows(loop->state_->accounts());
    if (!import.ok()) return import.status();
    imported = std::move(import).value();
  }

  auto first = std::make_shared<Snapshot>();
  first->tables = loop->state_->tables();
  first->verdicts = loop->state_->verdicts;
  first->policy = loop->policy_;
  first->liveness = std::make_shared<const LivenessMap>();
  first->counts = std::make_shared<const core::StateCounts>(loop->state_->index().counts);
  first->epoch = loop->epoch_;
  loop->snapshot_.store(std::move(first));

  Status started;
  const auto on_fatal = std::exchange(loop->options_.on_fatal, nullptr);  // a failed start is this call's answer
  const auto keep_fault = [&started](const core::Reply& reply) {
    if (started.ok()) started = reply.status;
  };
  std::vector<Item> items;
  if (imported) items.push_back({std::move(*imported), keep_fault, false});
  items.push_back({core::LeaderStarted{}, keep_fault, false});
  loop->RunBatch(std::move(items), false, loop->Now());
  if (!started.ok()) return started;
  if (Status told = loop->TellStart(); !told.ok()) return told;
  loop->options_.on_fatal = on_fatal;
  LogInfo("leadership taken epoch={} store={} jobs={} nodes={}", loop->epoch_, loop->store_name_,
          loop->state_->tables().jobs.size(), loop->state_->tables().nodes.size());
  return loop;
}

Status SchedulerLoop::MayLead() {
  const auto seen = store_->Load();
  if (!seen.ok()) return seen.status();
  const auto last = LastWritten(**seen, store_.get());
  if (!last.ok()) return last.status();
  if (Status right = CheckClock(*last, options_.clock()); !right.ok()) return right;
  const auto may_lead = std::exchange(options_.may_lead, nullptr);
  return may_lead ? may_lead(**seen) : Status::Ok();
}

Status SchedulerLoop::TellStart() {
  core::HistoryEntry entry;
  entry.at = last_now_;
  entry.kind = core::HistoryKind::kSchedulerStarted;
  entry.facts = {.epoch = epoch_, .version = GLIM_VERSION};
  return store_->Commit(epoch_, {std::move(entry)});
}

}  // namespace glim::server
