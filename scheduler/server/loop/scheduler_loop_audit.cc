// SchedulerLoop's audit trail: notes become rows of the commit that has their events.
#include <algorithm>
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

// What a submission made: "job 7", "jobs 7-9, 12".
std::string MadeInWords(const std::vector<core::JobId>& jobs) {
  std::string words = jobs.size() == 1 ? "job " : "jobs ";
  for (std::size_t first = 0, next = 0; first < jobs.size(); first = next) {
    for (next = first + 1; next < jobs.size() && jobs[next].value == jobs[next - 1].value + 1;) ++next;
    words += (first == 0 ? "" : ", ") + std::to_string(jobs[first].value);
    if (next > first + 1) words += "-" + std::to_string(jobs[next - 1].value);
  }
  return words;
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
    const core::Reply& reply = result.replies[i];
    AuditNote note = *std::exchange(items[i].audit, {});
    if (note.after.empty()) note.after = reply.jobs.empty() ? reply.state : MadeInWords(reply.jobs);
    rows.push_back(chain_.Next(std::move(note), OutcomeOf(reply.status), now));
  }
  std::deque<Denied> denied;
  {
    std::lock_guard lock(mutex_);
    denied = std::exchange(denied_, {});
  }
  for (Denied& one : denied) rows.push_back(chain_.Next(std::move(one.note), std::move(one.outcome), now));
  return rows;
}

// Of a user, a token or a node: what its owner asked for meanwhile is looked at once more.
bool SchedulerLoop::TakesRights(const Payload& what) {
  if (std::holds_alternative<core::ChangeAccounts>(what)) return true;
  if (std::holds_alternative<core::RemoveNode>(what)) return true;
  const auto* const event = std::get_if<core::ChangeIdentity>(&what);
  if (event == nullptr) return false;
  return std::any_of(event->changes.begin(), event->changes.end(), [](const core::IdentityChange& change) {
    const auto* const node = std::get_if<core::NodeIdentity>(&change.row);
    const bool revoked = node != nullptr && node->revoked;
    return revoked || (change.removed && (node != nullptr || std::holds_alternative<core::TokenRow>(change.row)));
  });
}

void SchedulerLoop::RefuseWhoMayNoMore(std::vector<Item>* items) {
  const auto may = [this](Item& item) {
    const Status status = item.audit && item.audit->still_allowed ? item.audit->still_allowed() : Status::Ok();
    if (status.ok()) return true;
    {
      std::lock_guard lock(mutex_);
      denied_.push_back({*std::exchange(item.audit, {}), OutcomeOf(status)});  // of this batch
    }
    core::Reply reply;
    reply.status = status;
    if (item.done) item.done(reply);
    return false;
  };
  items->erase(std::stable_partition(items->begin(), items->end(), may), items->end());
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
