#include "scheduler/server/clients/report_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/clients/storage_report.h"
#include "scheduler/server/convert/hardware_report.h"
#include "scheduler/server/convert/history_report.h"
#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/usage_report.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/chronicle.h"
#include "scheduler/server/loop/state_log.h"

namespace glim::server {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;  // each has up to 64 KB of states

// The states up to `at` as the entries from `since` on tell them.
Result<StateReplay> Replay(store::HistoryReader& reader, TimePoint since, TimePoint at) {
  StateReplay replay;
  store::HistoryReader::HistoryQuery query;
  query.states = true;
  query.since = since;
  query.limit = kEntriesAtOnce;
  for (;;) {
    auto page = reader.History(query);
    if (!page.ok()) return page.status();
    for (const auto& stored : *page) {
      if (stored.entry.at > at) return replay;
      replay.Take(stored.entry);
    }
    if (page->size() < kEntriesAtOnce) return replay;
    query.after = page->back().seq;
  }
}

void Write(const StateReplay& replay, v1::GetClusterAtResponse* response) {
  response->set_complete(replay.whole());
  std::map<core::JobId, std::vector<std::string>> held;
  std::vector<const StateReplay::NodeThen*> nodes;
  for (const auto& [id, node] : replay.nodes()) nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const StateReplay::NodeThen* node : nodes) {
    v1::NodeAt* const out = response->add_nodes();
    out->set_name(node->name);
    out->set_state(core::ToString(node->state));
    if (!node->holder) continue;
    out->mutable_holder()->set_job_id(node->holder.job.value);
    out->mutable_holder()->set_number(node->holder.number);
    held[node->holder.job].push_back(node->name);
  }
  for (const auto& [id, job] : replay.jobs()) {
    v1::JobAt* const out = response->add_jobs();
    out->set_id(id.value);
    out->set_state(core::ToString(job.state));
    out->set_attempt(job.attempt);
    for (const std::string& node : held[id]) out->add_nodes(node);
  }
}

// What each job that has not ended has had, as if it ended now.
void AddRunning(const core::Tables& tables, TimePoint now, HistoryReport* report) {
  tables.jobs.ForEach([&](core::JobId, const core::Job& row) {
    if (core::IsTerminal(row.state) || row.attempts == 0) return;
    const store::EndedJob job = RecordSoFar(tables, row, now);
    store::EndedFigures figures;
    figures.id = job.id;
    figures.submitted_at = job.submitted_at;
    figures.started_at = job.started_at;
    figures.ended_at = now;
    figures.interrupts = job.interrupts;
    figures.restarts = job.restarts;
    figures.steps_lost = job.steps_lost;
    figures.simulated_gpus = job.simulated_gpus;
    figures.ledger = UsesOf(tables, row, now);
    figures.team = job.team;
    figures.pool = job.pool;
    figures.priority = core::WordOf(job.priority);
    figures.state = core::WordOf(job.state);
    figures.user = job.user;
    figures.name = job.name;
    report->Add(figures);
  });
}

// When the attempt's stop was ordered, and when a later one of its job ran.
Status ReadTimes(store::HistoryReader& reader, HardwareReport::End* end) {
  store::HistoryReader::HistoryQuery query;
  query.job = end->job;
  query.since = std::max(TimePoint{}, end->ended_at - Hours(24));
  query.limit = kEntriesAtOnce;
  for (;;) {
    const auto page = reader.History(query);
    if (!page.ok()) return page.status();
    for (const auto& [seq, entry] : *page) {
      if (entry.kind == core::HistoryKind::kAttemptStopping && entry.attempt == end->attempt)
        end->stopped_at = entry.at;
      if (entry.kind != core::HistoryKind::kAttemptRunning || entry.attempt <= end->attempt) continue;
      end->again_at = entry.at;
      return Status::Ok();
    }
    if (page->size() < kEntriesAtOnce) return Status::Ok();
    query.after = page->back().seq;
  }
}

}  // namespace

ReportService::ReportService(SchedulerLoop* loop, HistoryDesk* desk, const HeldSaves* held, Door* door)
    : loop_(loop), desk_(desk), held_(held), door_(door) {}

ReportService::~ReportService() = default;

Status ReadHardware(store::HistoryReader& reader, const core::Tables& tables, HardwareReport* report,
                    v1::GetHardwareReportResponse* response) {
  store::HistoryReader::HistoryQuery query = report->query();
  store::HistoryReader::HistoryQuery first;
  first.since = query.since;
  first.limit = 1;
  const auto oldest = reader.History(first);
  if (!oldest.ok()) return oldest.status();
  for (bool more = true; more;) {
    const auto page = reader.History(query);
    if (!page.ok()) return page.status();
    for (const auto& [seq, entry] : *page) {
      more = report->Add(entry);
      if (!more) break;
    }
    more = more && page->size() == query.limit;
    if (more) query.after = page->back().seq;
  }
  std::vector<HardwareReport::End>& ends = report->ends();
  for (std::size_t i = ends.size() - std::min(ends.size(), kTimedEndsMax); i < ends.size(); ++i) {
    if (Status read = ReadTimes(reader, &ends[i]); !read.ok()) return read;
  }
  // A report that goes back further than the history begins where the history does.
  report->WriteTo(tables, oldest->empty() ? TimePoint{} : std::max(query.since, oldest->front().entry.at), response);
  return Status::Ok();
}

Status ClusterAt(store::HistoryReader& reader, v1::GetClusterAtResponse* response) {
  const TimePoint at{response->at_ms()};
  // All states are told once in kWholeEvery: mostly it is enough to begin a little before that.
  const TimePoint near = at - kWholeEvery - Hours(1);
  auto replay = Replay(reader, std::max(near, TimePoint{}), at);
  if (replay.ok() && !replay->whole() && near > TimePoint{}) replay = Replay(reader, {}, at);
  if (!replay.ok()) return replay.status();
  Write(*replay, response);
  if (response->ByteSizeLong() <= kPageBytesMax) return Status::Ok();
  return Status(StatusCode::kResourceExhausted,
                "the cluster had " + std::to_string(response->jobs_size()) + " jobs then: too much for one answer")
      .WithReason("TOO_LARGE")
      .WithField("at_ms")
      .WithFix("ask for a moment with fewer jobs that had not ended");
}

grpc::ServerUnaryReactor* ReportService::GetHistoryReport(grpc::CallbackServerContext* context,
                                                          const v1::GetHistoryReportRequest* request,
                                                          v1::GetHistoryReportResponse* response) {
  Call* const call = Call::Open(door_, context, "ReportApi/GetHistoryReport", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  auto made = HistoryReport::For(*request, loop_->policy()->price, loop_->Now());
  if (!made.ok()) return call->Refuse(made.status());
  const auto report = std::make_shared<HistoryReport>(std::move(made).value());
  const Status posted = desk_->PostReport(
      call->user(), call->caller().peer,
      [report, response, running = request->running(), snapshot = loop_->snapshot(),
       now = loop_->Now()](store::HistoryReader& reader) {
        if (running) {
          AddRunning(snapshot->tables, now, report.get());
          report->WriteTo(response);
          return Status::Ok();
        }
        const Status read = reader.EachEnded(report->query(), [&](const auto& job) { report->Add(job); });
        if (read.ok()) report->WriteTo(response);
        return read;
      },
      [call, response](const Status& status) { call->Answer(status, response); });
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ReportService::GetHardwareReport(grpc::CallbackServerContext* context,
                                                           const v1::GetHardwareReportRequest* request,
                                                           v1::GetHardwareReportResponse* response) {
  Call* const call = Call::Open(door_, context, "ReportApi/GetHardwareReport", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  auto made = HardwareReport::For(*request, loop_->Now());
  if (!made.ok()) return call->Refuse(made.status());
  const auto report = std::make_shared<HardwareReport>(std::move(made).value());
  const Status posted = desk_->PostReport(
      call->user(), call->caller().peer,
      [report, response, snapshot = loop_->snapshot()](store::HistoryReader& reader) {
        return ReadHardware(reader, snapshot->tables, report.get(), response);
      },
      [call, response](const Status& status) { call->Answer(status, response); });
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ReportService::GetStorageReport(grpc::CallbackServerContext* context,
                                                          const v1::GetStorageReportRequest* request,
                                                          v1::GetStorageReportResponse* response) {
  Call* const call = Call::Open(door_, context, "ReportApi/GetStorageReport", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  auto made = StorageReport::For(*request);
  if (!made.ok()) return call->Refuse(made.status());
  const auto report = std::make_shared<StorageReport>(std::move(made).value());
  const Status posted = desk_->PostReport(
      call->user(), call->caller().peer,
      [this, report, response](store::HistoryReader& reader) {
        report->Take(loop_->snapshot()->tables, *held_);
        Status read;
        if (report->AsksHistory()) read = reader.EachEnded({}, [&](const auto& job) { report->Name(job); });
        if (read.ok()) report->WriteTo(response);
        return read;
      },
      [call, response](const Status& status) { call->Answer(status, response); });
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ReportService::GetClusterAt(grpc::CallbackServerContext* context,
                                                      const v1::GetClusterAtRequest* request,
                                                      v1::GetClusterAtResponse* response) {
  Call* const call = Call::Open(door_, context, "ReportApi/GetClusterAt", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  if (request->at_ms() <= 0) {
    return call->Refuse(InvalidArgument("at_ms", "is no moment", "give milliseconds since 1970"));
  }
  if (TimePoint{request->at_ms()} > loop_->Now()) {
    return call->Refuse(InvalidArgument("at_ms", "lies ahead", "give a moment that has been"));
  }
  response->set_at_ms(request->at_ms());
  const Status posted = desk_->PostReport(
      call->user(), call->caller().peer,
      [response](store::HistoryReader& reader) { return ClusterAt(reader, response); },
      [call, response](const Status& status) { call->Answer(status, response); });
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
