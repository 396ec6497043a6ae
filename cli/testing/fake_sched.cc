#include "cli/testing/fake_sched.h"

namespace glim::cli {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

Status FakeSchedCalls::GetSchedStatus(ServerContext* context, const GetSchedStatusRequest*,
                                      GetSchedStatusResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->sched_status;
  return Status::OK;
}

Status FakeSchedCalls::TraceJob(ServerContext* context, const TraceJobRequest* request, TraceJobResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->trace;
  response->set_job_id(request->job_id());
  return Status::OK;
}

// The page's token is its number.
Status FakeSchedCalls::ExportHistory(ServerContext* context, const ExportHistoryRequest* request,
                                     ExportHistoryResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->exports.push_back(*request);
  const std::size_t page = request->page_token().empty() ? 0 : std::stoul(request->page_token());
  if (page < state->past.size()) *response = state->past[page];
  if (page + 1 < state->past.size()) response->set_next_page_token(std::to_string(page + 1));
  return Status::OK;
}

}  // namespace glim::cli
