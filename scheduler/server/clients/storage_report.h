// A report of what jobs' saves take, as the agents found when they last looked (agents/held_saves.h): by user, team or
// job. Of jobs whose rows are gone the history says whose they were.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "glim/v1/report_api.pb.h"
#include "scheduler/core/model/cluster_state.h"
#include "scheduler/server/agents/held_saves.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::server {

class StorageReport {
 public:
  // INVALID_ARGUMENT names the field.
  static Result<StorageReport> For(const v1::GetStorageReportRequest& request);

  // What the nodes that are there have told, and whose rows say whose it is.
  void Take(const core::Tables& tables, const HeldSaves& held);
  // Some are of jobs without a row.
  bool AsksHistory() const { return unknown_ > 0; }
  void Name(const store::EndedFigures& job);
  void WriteTo(v1::GetStorageReportResponse* out) const;

 private:
  struct OfJob {
    bool known = false, ended = true;
    std::string user, team, name;
    std::uint64_t saves = 0;
    std::int64_t bytes = 0, shared_bytes = 0;
  };
  std::string RowOf(core::JobId id, const OfJob& job) const;

  std::string by_, user_, team_;
  std::map<core::JobId, OfJob> jobs_;
  std::size_t unknown_ = 0;
  std::uint32_t nodes_told_ = 0, nodes_silent_ = 0;
  bool root_told_ = false;
  TimePoint oldest_;
};

}  // namespace glim::server
