// glim-bench-reports: lists with filters and reports over history, in the scheduler's own parts without a network. A
// page of 200 jobs out of a million by each filter; a report of a month over a million ended jobs in SQLite, and how
// long passes and answered submissions take meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
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

namespace {

using namespace glim;
using namespace glim::server;
using Steady = std::chrono::steady_clock;

struct Options {
  std::uint64_t jobs = 1'000'000;
  std::uint64_t pages = 300;
  int reports = 5;
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

// Passes' times, by whether a report is being made.
class Passes final : public LoopObserver {
 public:
  void OnPass(double seconds) override {
    const std::lock_guard lock(mutex_);
    ms_[reporting].push_back(seconds * 1e3);
  }
  void OnCommit(double /*seconds*/) override {}
  void OnChanged(const core::Tables&, const std::vector<core::Mutation>&, const core::Policy&) override {}
  double P99(bool while_reporting) {
    const std::lock_guard lock(mutex_);
    return Percentile(ms_[while_reporting], 99);
  }
  std::atomic<bool> reporting{false};

 private:
  std::mutex mutex_;
  std::vector<double> ms_[2];
};

core::SubmitJobs Submission(std::uint32_t jobs) {
  core::SubmitJobs submit;
  submit.user = "ann";
  submit.specs.assign(jobs, *SpecOf("bench", "default"));
  for (core::JobSpec& spec : submit.specs) spec.nodes = 2'000;  // it waits: passes look at it and place nothing
  return submit;
}

double Answered(SchedulerLoop& loop, decltype(core::Event::what) what) {
  std::promise<void> done;
  const auto begin = Steady::now();
  if (!loop.Post(std::move(what), [&](const core::Reply&) { done.set_value(); }).ok()) std::abort();
  done.get_future().wait();
  return MsSince(begin);
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

void MeasureReports(const Options& options) {
  auto store = store::OpenStore(options.store).value();
  const Clock clock = MonotonicWallClock();
  FillHistory(*store, options.jobs, clock());
  auto reader = store->OpenReader().value();
  Passes passes;
  SchedulerLoop::Options loop_options;
  loop_options.clock = clock;
  loop_options.observer = &passes;
  loop_options.ended_jobs_max = 2 * options.jobs;
  auto loop = SchedulerLoop::Open(std::move(loop_options), std::move(store)).value();
  loop->Start();
  HistoryDesk desk(loop.get(), std::move(reader));
  for (std::uint32_t node = 1; node <= 1'000; ++node) {
    core::NodeConnected hello;
    hello.session = node;
    hello.name = hello.machine_id = "n" + std::to_string(node);
    hello.labels.gpu_count = 8;
    Answered(*loop, std::move(hello));
  }
  Answered(*loop, Submission(5'000));

  std::vector<double> answers[2];
  std::atomic<bool> stop{false};
  std::thread submitter([&] {
    while (!stop) {
      const bool reporting = passes.reporting;
      const double ms = Answered(*loop, Submission(1));
      if (reporting == passes.reporting) answers[reporting].push_back(ms);
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(5));
  for (const char* by : {"pool", "user", "job"}) {
    std::vector<double> ms;
    std::uint64_t jobs = 0;
    passes.reporting = true;
    for (int i = 0; i < options.reports; ++i) ms.push_back(Report(*loop, desk, by, &jobs));
    passes.reporting = false;
    std::printf("{\"part\":\"report\",\"by\":\"%s\",\"jobs\":%llu,\"p50_ms\":%.0f,\"max_ms\":%.0f}\n", by,
                static_cast<unsigned long long>(jobs), Percentile(ms, 50), Percentile(ms, 100));
  }
  stop = true;
  submitter.join();
  std::printf(
      "{\"part\":\"meanwhile\",\"pass_p99_ms\":%.2f,\"pass_p99_ms_alone\":%.2f,\"answer_p99_ms\":%.2f,"
      "\"answer_p99_ms_alone\":%.2f}\n",
      passes.P99(true), passes.P99(false), Percentile(answers[1], 99), Percentile(answers[0], 99));
  desk.Stop();
  loop->Stop();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Lists with filters and reports over history, as lines of JSON"};
  Options options;
  app.add_option("--jobs", options.jobs)->check(CLI::Range(1'000, 10'000'000))->capture_default_str();
  app.add_option("--pages", options.pages)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--reports", options.reports)->check(CLI::Range(1, 1'000))->capture_default_str();
  app.add_option("--store", options.store, "sqlite:/path or postgres:..., empty and of this run alone")->required();
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a figure is told as soon as it is known
  MeasurePages(options);
  MeasureReports(options);
  return 0;
}
