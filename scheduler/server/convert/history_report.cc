#include "scheduler/server/convert/history_report.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

using core::Use;

constexpr std::array<std::string_view, 5> kBys = {"pool", "team", "user", "class", "job"};
constexpr double kMilliPerUnit = 1000;
constexpr double kMsPerHour = 3'600'000;

std::int64_t Of(const core::UseTotals& uses, Use use) { return uses[static_cast<std::size_t>(use)]; }

std::int64_t HeldBy(const core::UseTotals& uses) {
  std::int64_t held = 0;
  for (const Use use : {Use::kClaimed, Use::kStarting, Use::kRestoring, Use::kProductive, Use::kStopping, Use::kLost}) {
    held += Of(uses, use);
  }
  return held;
}

// Of at least so many of a hundred of them.
std::int64_t Percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

double PriceOf(const core::Price& price, const store::EndedFigures& job, std::int64_t gpu_ms) {
  if (price.unit.empty()) return 0;
  std::int64_t milli = price.per_gpu_hour_milli;
  for (const auto& [pool, of_pool] : price.pools) {
    if (pool == job.pool) milli = of_pool;
  }
  return static_cast<double>(gpu_ms) / kMsPerHour * static_cast<double>(milli) / kMilliPerUnit;
}

// By GPU-time, then in an order that stays the same.
template <typename Row>
bool Larger(const Row& a, const Row& b) {
  return a.gpu_ms != b.gpu_ms ? a.gpu_ms > b.gpu_ms : a.name < b.name;
}

}  // namespace

void WriteSpread(std::vector<std::int64_t>& values, v1::Spread* out) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  out->set_mean_ms(static_cast<std::int64_t>(sum / static_cast<double>(values.size())));
  out->set_p50_ms(Percentile(values, 50));
  out->set_p90_ms(Percentile(values, 90));
  out->set_p99_ms(Percentile(values, 99));
  out->set_max_ms(values.back());
}

std::string WhyFailed(const store::EndedFigures& job) {
  if (job.outcome == "failed") return "exit " + std::to_string(job.exit_code);
  if (!job.outcome.empty()) return std::string(job.outcome);
  return job.started_at ? "not_recorded" : "never_started";
}

Result<HistoryReport> HistoryReport::For(const v1::GetHistoryReportRequest& request, const core::Price& price,
                                         TimePoint now) {
  HistoryReport report;
  const std::string by = request.by().empty() ? "pool" : request.by();
  const auto* const known = std::find(kBys.begin(), kBys.end(), by);
  if (known == kBys.end()) {
    const std::string near = Nearest(by, kBys);
    return InvalidArgument(
        "by", "'" + Printable(by) + "' is nothing to report by",
        (near.empty() ? "" : "did you mean '" + near + "'? ") + "use pool, team, user, class or job");
  }
  report.by_ = static_cast<By>(known - kBys.begin());
  for (const auto& [field, ms] :
       {std::pair("since_ms", request.since_ms()), std::pair("until_ms", request.until_ms())}) {
    if (ms < 0) return InvalidArgument(field, "is negative", "give milliseconds since 1970, or 0");
  }
  if (request.running() && (request.since_ms() != 0 || request.until_ms() != 0)) {
    return InvalidArgument("running", "has no since_ms and no until_ms: it tells what such jobs have had until now",
                           "leave those out, or `running`");
  }
  report.query_.since = TimePoint{request.since_ms()};
  report.until_ = request.until_ms() == 0 ? now : TimePoint{request.until_ms()};
  // A job that ended in this very millisecond is in a report until now.
  report.query_.until = request.until_ms() == 0 ? now + Milliseconds(1) : report.until_;
  if (report.until_ <= report.query_.since) {
    return InvalidArgument("until_ms", "is not after since_ms", "give a time that begins before it ends");
  }
  report.request_ = request;
  report.request_.set_by(by);
  report.price_ = price;
  return report;
}

void HistoryReport::Sums::Take(Sums&& other) {
  jobs += other.jobs;
  succeeded += other.succeeded;
  failed += other.failed;
  cancelled += other.cancelled;
  interrupts += other.interrupts;
  restarts += other.restarts;
  gpu_ms += other.gpu_ms;
  productive_gpu_ms += other.productive_gpu_ms;
  lost_gpu_ms += other.lost_gpu_ms;
  steps_lost += other.steps_lost;
  price += other.price;
  simulated = simulated || other.simulated;
  waits.insert(waits.end(), other.waits.begin(), other.waits.end());
  runs.insert(runs.end(), other.runs.begin(), other.runs.end());
  for (const auto& [why, count] : other.failures) failures[why] += count;
}

bool HistoryReport::Wanted(const store::EndedFigures& job) const {
  const auto other = [](const std::string& wanted, std::string_view is) { return !wanted.empty() && wanted != is; };
  return !other(request_.pool(), job.pool) && !other(request_.team(), job.team) && !other(request_.user(), job.user);
}

HistoryReport::Sums& HistoryReport::RowOf(const store::EndedFigures& job) {
  const std::string_view name = by_ == By::kPool   ? job.pool
                                : by_ == By::kTeam ? job.team
                                : by_ == By::kUser ? job.user
                                                   : job.priority;
  const auto found = places_.find(name);
  if (found != places_.end()) return rows_[found->second];
  places_.emplace(std::string(name), rows_.size());
  rows_.emplace_back().name = name;
  return rows_.back();
}

void HistoryReport::Add(const store::EndedFigures& job) {
  if (!Wanted(job)) return;
  if (!oldest_) oldest_ = job.ended_at;
  Sums alone;
  Sums& sums = by_ == By::kJob ? alone : RowOf(job);
  sums.jobs += 1;
  sums.interrupts += job.interrupts;
  sums.restarts += job.restarts;
  const std::int64_t gpu_ms = HeldBy(job.ledger);
  sums.gpu_ms += gpu_ms;
  sums.productive_gpu_ms += Of(job.ledger, Use::kProductive);
  sums.lost_gpu_ms += Of(job.ledger, Use::kLost);
  sums.steps_lost += job.steps_lost;
  sums.price += PriceOf(price_, job, gpu_ms);
  sums.simulated = sums.simulated || job.simulated_gpus;
  if (job.state == "succeeded") {
    sums.succeeded += 1;
  } else if (job.state == "failed") {
    sums.failed += 1;
    sums.failures[WhyFailed(job)] += 1;
  } else if (!request_.running()) {
    sums.cancelled += 1;
  }
  if (job.started_at) {
    sums.waits.push_back(std::max<std::int64_t>(0, (job.started_at - job.submitted_at).ms));
    sums.runs.push_back(std::max<std::int64_t>(0, (job.ended_at - job.started_at).ms));
  }
  if (by_ != By::kJob) return;
  alone.name = std::to_string(job.id.value);
  alone.job_name = job.name;
  alone.user = job.user;
  Keep(std::move(alone));
}

void HistoryReport::Keep(Sums job) {
  if (rows_.size() == kReportRowsMax && !Larger(job, rows_.front())) return others_.Take(std::move(job));
  rows_.push_back(std::move(job));
  std::push_heap(rows_.begin(), rows_.end(), Larger<Sums>);
  if (rows_.size() <= kReportRowsMax) return;
  std::pop_heap(rows_.begin(), rows_.end(), Larger<Sums>);
  others_.Take(std::move(rows_.back()));
  rows_.pop_back();
}

void HistoryReport::WriteRow(Sums& sums, v1::HistoryReportRow* out) {
  out->set_name(Printable(sums.name));
  out->set_jobs(sums.jobs);
  out->set_succeeded(sums.succeeded);
  out->set_failed(sums.failed);
  out->set_cancelled(sums.cancelled);
  out->set_interrupts(sums.interrupts);
  out->set_restarts(sums.restarts);
  out->set_gpu_ms(sums.gpu_ms);
  out->set_productive_gpu_ms(sums.productive_gpu_ms);
  out->set_lost_gpu_ms(sums.lost_gpu_ms);
  out->set_steps_lost(sums.steps_lost);
  WriteSpread(sums.waits, out->mutable_wait());
  WriteSpread(sums.runs, out->mutable_run());
  out->set_price(sums.price);
  out->set_job_name(sums.job_name);
  out->set_user(sums.user);
  for (const auto& [why, count] : sums.failures) (*out->mutable_failures())[why] = count;
  out->set_simulated_gpus(sums.simulated);
}

void HistoryReport::WriteTo(v1::GetHistoryReportResponse* out) {
  std::sort(rows_.begin(), rows_.end(), Larger<Sums>);
  while (rows_.size() > kReportRowsMax) {
    others_.Take(std::move(rows_.back()));
    rows_.pop_back();
  }
  others_.name = kOthersRow;
  if (others_.jobs > 0) rows_.push_back(std::move(others_));
  Sums total;
  for (Sums& row : rows_) {
    WriteRow(row, out->add_rows());
    total.Take(std::move(row));
  }
  WriteRow(total, out->mutable_total());
  out->set_by(request_.by());
  out->set_running(request_.running());
  if (!request_.running()) out->set_since_ms(oldest_.ms);
  out->set_until_ms(until_.ms);
  out->set_price_unit(price_.unit);
}

}  // namespace glim::server
