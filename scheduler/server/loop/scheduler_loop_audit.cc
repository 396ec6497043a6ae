// SchedulerLoop's audit trail: notes become rows of the commit that has their events.
#include <boost/asio/post.hpp>
#include <utility>

#include "scheduler/server/loop/scheduler_loop.h"
#include "sdk/base/check.h"
#include "sdk/base/status_name.h"

namespace glim::server {
namespace {

std::string OutcomeOf(const Status& status) {
  if (status.ok()) return "ok";
  return status.reason().empty() ? StatusName(status.code()) : status.reason();
}

}  // namespace

Status SchedulerLoop::PostAudit(AuditNote note, std::string outcome) {
  bool schedule = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) {
      return Status(StatusCode::kUnavailable, "the scheduler is stopping").WithReason("STOPPING");
    }
    if (denied_.size() >= options_.denied_max) {
      return Status(StatusCode::kResourceExhausted, "too many rows of the audit trail are waiting")
          .WithReason("OVERLOADED");
    }
    denied_.push_back({std::move(note), std::move(outcome)});
    schedule = !std::exchange(scheduled_, true);
  }
  if (schedule) boost::asio::post(io_, [this] { Drain(); });
  return Status::Ok();
}

bool SchedulerLoop::AnyDenied() {
  std::lock_guard lock(mutex_);
  return !denied_.empty();
}

// The rows of this batch: of its events in their order, and of what was denied until now.
std::vector<store::AuditRow> SchedulerLoop::AuditRows(std::vector<Item>& items, const core::DriveResult& result,
                                                      TimePoint now) {
  GLIM_CHECK(result.replies.size() >= items.size(), "every event has a reply");
  std::vector<store::AuditRow> rows;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].audit) continue;
    rows.push_back(chain_.Next(*std::exchange(items[i].audit, {}), OutcomeOf(result.replies[i].status), now));
  }
  std::deque<Denied> denied;
  {
    std::lock_guard lock(mutex_);
    denied = std::exchange(denied_, {});
  }
  for (Denied& one : denied) rows.push_back(chain_.Next(std::move(one.note), std::move(one.outcome), now));
  return rows;
}

// These were refused before they were events, for the store is away: it is told of them when it is back.
void SchedulerLoop::KeepAudit(std::vector<Item>& refused, const Status& why) {
  std::lock_guard lock(mutex_);
  for (Item& item : refused) {
    if (!item.audit || denied_.size() >= options_.denied_max) continue;
    denied_.push_back({*std::exchange(item.audit, {}), OutcomeOf(why)});
  }
}

}  // namespace glim::server
