// LogSearch: one SearchLog call: asks the nodes of the ranks one after the other until the page is full, its time is
// over, or all has been searched. Where a node has a log no more, what the scheduler has kept of it is searched here.
//
// The door has let it in; whose a job is that has no row any more only the store knows. Runs on the AgentStrand; lives
// as long as somebody answers it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "glim/v1/log_api.pb.h"
#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/clients/log_source.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/contract/log_tail.h"

namespace glim::server {

// Where a search stands: in a rank's log, in bytes; -1: where it begins there.
struct LogPlace {
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  std::int64_t offset = -1;
};
// The token says what it was given for: with another word it is refused. INVALID_ARGUMENT.
std::string LogSearchToken(const v1::SearchLogRequest& request, const LogPlace& place);
Result<LogPlace> ReadLogSearchToken(const v1::SearchLogRequest& request);
Status CheckLogSearch(const v1::SearchLogRequest& request);

class LogSearch : public std::enable_shared_from_this<LogSearch> {
 public:
  struct Owner {
    AgentStrand* strand;
    LogBroker* broker;
    SchedulerLoop* loop;
    std::chrono::milliseconds time;  // that a page takes
  };

  // On the strand; of a request that CheckLogSearch took. `request` and `response` live as long as the call.
  static void Start(const Owner* owner, Call* call, const v1::SearchLogRequest* request,
                    v1::SearchLogResponse* response, const LogPlace& from);

 private:
  LogSearch(const Owner* owner, Call* call, const v1::SearchLogRequest* request, v1::SearchLogResponse* response,
            const LogPlace& from);
  void Begin();
  void Next();
  void Ask(core::NodeId node, std::uint32_t ranks);
  void Answered(core::NodeId node, std::uint32_t ranks, Result<v1::LogChunk> result);
  Status Take(v1::LogFindings* findings, std::uint32_t ranks);
  // The log of the rank at hand cannot be searched where it lies.
  void SearchKept(const Status& why);
  void FoundKept(Result<std::optional<store::LogTail>> kept, bool theirs, const Status& why);
  void SearchTail(const store::LogTail& tail);
  void AddGap(const std::string& node, const Status& why, bool kept_end);
  void NextRank();
  void Finish(bool done);
  void Refuse(const Status& status) { call_->Answer(status); }
  bool HasRoom() const;
  std::string NameOf(core::NodeId node) const;
  core::JobId job() const { return core::JobId(request_.job_id()); }

  const Owner* const owner_;
  Call* const call_;
  const v1::SearchLogRequest& request_;
  v1::SearchLogResponse* const response_;
  const std::chrono::steady_clock::time_point until_;
  const std::uint32_t lines_max_;
  LogPlace at_;
  LogSource source_;       // no nodes: nothing is known of the job but what was kept
  std::uint32_t end_ = 0;  // the first rank that is not searched
  std::uint32_t matches_ = 0;
  std::size_t bytes_ = 0;
  std::optional<std::pair<core::NodeId, Status>> away_;  // the node that did not answer, and why
};

}  // namespace glim::server
