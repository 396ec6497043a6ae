// glim-bench-reports: lists with filters and reports over history, in the scheduler's own parts without a network. A
// page of 200 jobs out of a million by each filter; a report of a month over a million ended jobs in the store, and how
// long a busy cluster's passes and answered submissions take meanwhile, beside what they take alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/clients/history_desk.h"
#include "scheduler/server/clients/job_listing.h"
#include "scheduler/server/convert/history_report.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/open_store.h"
#include "sdk/log/log.h"
#include "tests/bench/busy_loop.h"

namespace {

using namespace glim;
using namespace glim::server;
using Steady = std::chrono::steady_clock;

struct Options {
  std::uint64_t jobs = 1'000'000;
  std::uint64_t pages = 300;
  int reports = 5;
  int alone_s = 10;  // that the busy cluster is watched without reports
  std::string store;
};

double MsSince(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

double Percentile(std::vector<double> values, std::size_t percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() * percent + 99) / 100 - 1];
}

std::shared_ptr<const core::JobSpec> SpecOf(const std::string& name, const std::string& pool) {
  core::JobSpec spec;
  spec.name = name;
  spec.workdir = "/";
  spec.run = "train";
  spec.pool = pool;
  return std::make_shared<const core::JobSpec>(std::move(spec));
}

// Jobs of 1000 users, 20 teams, 4 pools and 8 classes; nine of ten are queued, one of ten has ended.
core::Tables ManyJobs(std::uint64_t jobs) {
  std::vector<std::shared_ptr<const core::JobSpec>> specs;
  for (int i = 0; i < 4'000; ++i) specs.push_back(SpecOf("train-" + std::to_string(i), "pool" + std::to_string(i % 4)));
  core::ClusterState state;
  for (std::uint64_t id = 1; id <= jobs; ++id) {
    core::Job job;
    job.id = core::JobId(id);
    job.user = "user" + std::to_string(id % 1'000);
    job.team = "team" + std::to_string(id % 20);
    job.spec = specs[id * 7 % specs.size()];
    job.priority = core::kEnumWords<core::PriorityClass>[1 + id % 8].value;
    job.submitted_at = TimePoint{static_cast<std::int64_t>(1'000'000 + id * 37 % jobs)};
    job.queued_at = job.submitted_at;
    if (id % 10 == 0) {
      job.state = core::JobState::kSucceeded;
      job.ended_at = job.submitted_at + Seconds(5);
    }
    state.Put(std::move(job));
  }
  return state.tables();
}

void MeasurePages(const Options& options) {
  Snapshot snapshot;
  snapshot.tables = ManyJobs(options.jobs);
  snapshot.verdicts = std::make_shared<const core::Verdicts>();
  snapshot.policy = std::make_shared<const core::Policy>();
  snapshot.counts = std::make_shared<const core::StateCounts>();
  snapshot.liveness = std::make_shared<const LivenessMap>();
  Caller caller;
  caller.user = "bench";
  caller.role = core::Role::kOperator;
  const std::pair<const char*, std::function<void(v1::ListJobsRequest*)>> filters[] = {
      {"none", [](v1::ListJobsRequest*) {}},
      {"state", [](v1::ListJobsRequest* r) { r->add_states("succeeded"); }},
      {"state_rare", [](v1::ListJobsRequest* r) { r->add_states("failed"); }},
      {"pool", [](v1::ListJobsRequest* r) { r->set_pool("pool2"); }},
      {"team", [](v1::ListJobsRequest* r) { r->set_team("team7"); }},
      {"user", [](v1::ListJobsRequest* r) { r->set_user("user77"); }},
      {"priority", [](v1::ListJobsRequest* r) { r->set_priority("high"); }},
      {"name", [](v1::ListJobsRequest* r) { r->set_name("n-1234"); }},
      {"name_of_nobody", [](v1::ListJobsRequest* r) { r->set_name("zzz"); }},
      {"all_together",
       [](v1::ListJobsRequest* r) {
         r->set_all(true);
         r->set_pool("pool1");
         r->set_team("team3");
         r->set_name("train");
       }},
  };
  for (const auto& [name, set] : filters) {
    v1::ListJobsRequest request;
    set(&request);
    request.set_page_size(200);
    std::vector<double> ms;
    std::uint64_t found = 0;
    for (std::uint64_t page = 0; page < options.pages; ++page) {
      const auto begin = Steady::now();
      const auto response = ListJobs(snapshot, request, caller, TimePoint{2'000'000'000});
      ms.push_back(MsSince(begin));
      if (!response.ok()) std::abort();
      found += static_cast<std::uint64_t>(response->jobs_size());
      request.set_page_token(response->next_page_token());  // from the beginning again behind the last
    }
    std::printf("{\"part\":\"page\",\"filter\":\"%s\",\"of\":%llu,\"found\":%llu,\"p50_ms\":%.2f,\"p99_ms\":%.2f}\n",
                name, static_cast<unsigned long long>(options.jobs), static_cast<unsigned long long>(found),
                Percentile(ms, 50), Percentile(ms, 99));
  }
}

constexpr std::int64_t kMonthMs = Hours(24 * 30).ms;

void FillHistory(store::Store& store, std::uint64_t jobs, TimePoint now) {
  const std::uint64_t epoch = store.AcquireEpoch().value();
  std::vector<store::EndedJob> batch;
  for (std::uint64_t i = 0; i < jobs; ++i) {
    store::EndedJob job;
    job.id = core::JobId(i + 1);
    job.name = "train-" + std::to_string(i % 4'000);
    job.user = "user" + std::to_string(i % 1'000);
    job.team = "team" + std::to_string(i % 20);
    job.pool = "pool" + std::to_string(i % 4);
    job.state = i % 9 == 0 ? core::JobState::kFailed : core::JobState::kSucceeded;
    job.outcome = i % 9 == 0 ? core::Outcome::kFailed : core::Outcome::kSucceeded;
    job.exit_code = i % 9 == 0 ? 1 : 0;
    job.message = "exit 1: RuntimeError: the loss is not a number";
    job.ended_at =
        now - Milliseconds(kMonthMs - static_cast<std::int64_t>(i) * kMonthMs / static_cast<std::int64_t>(jobs));
    job.started_at = job.ended_at - Seconds(600);
    job.submitted_at = job.started_at - Milliseconds(static_cast<std::int64_t>(i * 7'919 % 3'600'000));
    job.ledger[static_cast<std::size_t>(core::Use::kProductive)] = 4'800'000;
    batch.push_back(std::move(job));
    if (batch.size() < 5'000 && i + 1 < jobs) continue;
    if (!store.Commit(epoch, {core::PutIds{core::JobId(jobs + 1), core::NodeId(1)}}, batch).ok()) std::abort();
    batch.clear();
  }
}

double Report(SchedulerLoop& loop, HistoryDesk& desk, const char* by, std::uint64_t* jobs) {
  v1::GetHistoryReportRequest request;
  request.set_by(by);
  request.set_since_ms(loop.Now().ms - kMonthMs - 1000);
  const auto report = std::make_shared<HistoryReport>(HistoryReport::For(request, {}, loop.Now()).value());
  v1::GetHistoryReportResponse response;
  std::promise<void> done;
  const auto begin = Steady::now();
  const Status posted = desk.PostReport(
      "ann", "here",
      [&](store::HistoryReader& reader) {
        const Status read = reader.EachEnded(report->query(), [&](const auto& job) { report->Add(job); });
        report->WriteTo(&response);
        return read;
      },
      [&](const Status& status) {
        if (!status.ok()) std::abort();
        done.set_value();
      });
  if (!posted.ok()) std::abort();
  done.get_future().wait();
  *jobs = response.total().jobs();
  return MsSince(begin);
}

void PrintMeanwhile(bench::BusyLoop& busy) {
  const auto print = [](const char* name, const std::vector<double>& alone, const std::vector<double>& meanwhile) {
    std::printf(
        "{\"part\":\"meanwhile\",\"what\":\"%s\",\"alone\":%zu,\"p50_ms_alone\":%.2f,\"p99_ms_alone\":%.2f,"
        "\"meanwhile\":%zu,\"p50_ms\":%.2f,\"p99_ms\":%.2f}\n",
        name, alone.size(), Percentile(alone, 50), Percentile(alone, 99), meanwhile.size(), Percentile(meanwhile, 50),
        Percentile(meanwhile, 99));
  };
  const bench::BusyLoop::Times alone = busy.TimesOf(false), meanwhile = busy.TimesOf(true);
  print("pass", alone.passes_ms, meanwhile.passes_ms);
  print("answer", alone.answers_ms, meanwhile.answers_ms);
}

void MeasureReports(const Options& options) {
  auto store = store::OpenStore(options.store).value();
  FillHistory(*store, options.jobs, MonotonicWallClock()());
  auto reader = store->OpenReader().value();
  bench::BusyLoop::Options of_busy;
  of_busy.ended_jobs_max = 2 * options.jobs;
  bench::BusyLoop busy(of_busy, std::move(store));
  HistoryDesk desk(&busy.loop(), std::move(reader));
  busy.Begin();
  std::this_thread::sleep_for(std::chrono::seconds(options.alone_s));
  std::printf("{\"part\":\"cluster\",\"running\":%zu}\n", busy.Running());
  for (const char* by : {"pool", "user", "job"}) {
    std::vector<double> ms;
    std::uint64_t jobs = 0;
    busy.Mark(true);
    for (int i = 0; i < options.reports; ++i) ms.push_back(Report(busy.loop(), desk, by, &jobs));
    busy.Mark(false);
    std::printf("{\"part\":\"report\",\"by\":\"%s\",\"jobs\":%llu,\"p50_ms\":%.0f,\"max_ms\":%.0f}\n", by,
                static_cast<unsigned long long>(jobs), Percentile(ms, 50), Percentile(ms, 100));
  }
  busy.End();
  PrintMeanwhile(busy);
  desk.Stop();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Lists with filters and reports over history, as lines of JSON"};
  Options options;
  app.add_option("--jobs", options.jobs)->check(CLI::Range(1'000, 10'000'000))->capture_default_str();
  app.add_option("--pages", options.pages)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--reports", options.reports)->check(CLI::Range(1, 1'000))->capture_default_str();
  app.add_option("--alone", options.alone_s, "seconds without a report")->check(CLI::Range(1, 600));
  app.add_option("--store", options.store, "sqlite:/path or postgres:..., empty and of this run alone")->required();
  CLI11_PARSE(app, argc, argv);
  StartLog("%l %v", "error");                // standard output has the figures alone
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a figure is told as soon as it is known
  MeasurePages(options);
  MeasureReports(options);
  return 0;
}
