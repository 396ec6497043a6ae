// A report on hardware: what failed, how often, and what that cost, from the history (store/contract/
// hardware_history.h). Its tables are those that the Fire-Flyer paper (An et al., 2024) has of its cluster: Xids by
// kind and share (table VI), errors of memory and cuts of links by month (tables VII and VIII), after the classes of
// its table V.
//
// A *failure* is what took a node out or ended an attempt: a finding of the health checks that was acted upon or that
// an attempt's end was put down to, or the loss of a node that no operator had taken out. What follows on the same node
// within an hour of the one before is the same failure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glim/v1/report_api.pb.h"
#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/history.h"
#include "scheduler/store/contract/store.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr std::size_t kFailingNodesMax = 100;
// Of so many attempts that hardware ended, the newest, it is looked up how long detection and recovery took.
inline constexpr std::size_t kTimedEndsMax = 5'000;

// software, nvlink, memory_ecc, uncorrectable, gsp (the paper's table V); other.
std::string_view ClassOfXid(std::int64_t code);
// The same of any finding: an Xid's class, or gpu, network, memory, machine, disk, other.
std::string_view ClassOfFinding(const core::HistoryFacts& facts);

class HardwareReport {
 public:
  // An attempt that hardware ended. When its stop was ordered and when its job ran again is looked up by the caller; 0:
  // not known.
  struct End {
    core::JobId job;
    std::uint32_t attempt = 0;
    core::Outcome outcome = core::Outcome::kNone;
    TimePoint ended_at;
    TimePoint found_at;  // of the first finding that its end is put down to; 0: there is none
    TimePoint stopped_at, again_at;
    std::int64_t lost_gpu_ms = 0, steps_lost = 0;
  };

  // INVALID_ARGUMENT names the field.
  static Result<HardwareReport> For(const v1::GetHardwareReportRequest& request, TimePoint now);

  store::HistoryReader::HistoryQuery query() const;  // its first page
  // Entries in their order. False: this one lies behind what was asked for, and all that follow do.
  bool Add(const core::HistoryEntry& entry);
  std::vector<End>& ends() { return ends_; }
  // `oldest`: from when on the history is kept, within what was asked for; 0: nothing is.
  void WriteTo(const core::Tables& tables, TimePoint oldest, v1::GetHardwareReportResponse* out);

 private:
  struct Finding {
    core::NodeId node;
    TimePoint at;     // when the scheduler took it in
    TimePoint found;  // on its node, where the entry tells it
    std::string_view of;
    bool failed = false;  // it took the node out, or ended an attempt
  };
  struct Xid {
    std::uint64_t count = 0, jobs_fault = 0;
    std::map<core::NodeId, std::uint64_t> nodes;
    std::map<std::pair<core::NodeId, std::string>, std::uint64_t> devices;
  };
  struct Period {
    std::uint64_t gpu_ecc = 0, memory_ecc = 0, flash_cuts = 0, links_down = 0;
  };
  struct Life {
    TimePoint from, to;  // 0: before the history; still there
  };

  void AddFinding(const core::HistoryEntry& entry);
  void AddToPeriods(const core::HistoryEntry& entry);
  void AddEnd(const core::HistoryEntry& entry);
  void WriteXids(v1::GetHardwareReportResponse* out) const;
  void WriteEnds(v1::GetHardwareReportResponse* out) const;
  // Returns how many failures there were in all.
  std::uint64_t WriteNodes(const core::Tables& tables, v1::GetHardwareReportResponse* out) const;
  std::int64_t NodeMs(const core::Tables& tables, TimePoint oldest) const;

  TimePoint since_, until_;
  std::vector<Finding> findings_;
  std::map<core::AttemptId, std::vector<std::size_t>> of_attempt_;  // places in findings_
  std::map<std::int64_t, Xid> xids_;
  std::map<std::string, Period> months_, days_;
  std::map<core::NodeId, Life> lives_;
  std::map<core::NodeId, bool> cordoned_;
  std::vector<End> ends_;
};

}  // namespace glim::server
