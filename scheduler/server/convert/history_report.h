// A report over jobs that have ended: sums by pool, team, user, class or job, how long they waited and ran, how they
// ended, and what of their GPU-time was productive or lost.
//
// A job counts where its end lies, with all that it had: what it did before `since` is in it, and jobs that have not
// ended are not. Percentiles are exact (nearest rank). Waits are from the submission to the first start, runs from
// there to the end; a job that never started has neither.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glim/v1/report_api.pb.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr std::size_t kReportRowsMax = 1000;
// Of the row that has what is beyond them: no name of a pool, team or user looks so.
inline constexpr char kOthersRow[] = "(others)";

class HistoryReport {
 public:
  // INVALID_ARGUMENT names the field. What is asked of the store is `query()`.
  static Result<HistoryReport> For(const v1::GetHistoryReportRequest& request, const core::Price& price, TimePoint now);

  const store::EndedFiguresQuery& query() const { return query_; }
  void Add(const store::EndedFigures& job);
  void WriteTo(v1::GetHistoryReportResponse* out);

 private:
  enum class By : std::uint8_t { kPool, kTeam, kUser, kClass, kJob };

  struct Sums {
    std::string name, job_name, user;
    std::uint64_t jobs = 0, succeeded = 0, failed = 0, cancelled = 0, interrupts = 0, restarts = 0;
    std::int64_t gpu_ms = 0, productive_gpu_ms = 0, lost_gpu_ms = 0, steps_lost = 0;
    double price = 0;
    bool simulated = false;
    std::vector<std::int64_t> waits, runs;
    std::map<std::string, std::uint64_t> failures;

    void Take(Sums&& other);
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  bool Wanted(const store::EndedFigures& job) const;
  Sums& RowOf(const store::EndedFigures& job);
  // Of single jobs the largest alone are kept, as a heap with the smallest in front.
  void Keep(Sums job);
  static void WriteRow(Sums& sums, v1::HistoryReportRow* out);

  By by_ = By::kPool;
  v1::GetHistoryReportRequest request_;
  core::Price price_;
  TimePoint until_;  // as told
  store::EndedFiguresQuery query_;
  TimePoint oldest_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;  // of the rows, by name
  std::vector<Sums> rows_;
  Sums others_;
};

// Exact percentiles (nearest rank) of the values, which it sorts; of none it writes nothing.
void WriteSpread(std::vector<std::int64_t>& values, v1::Spread* out);
// Why a job failed, in one word or two: "exit 1", "node_failure".
std::string WhyFailed(const store::EndedFigures& job);

}  // namespace glim::server
